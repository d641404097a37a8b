"use strict";
(() => {
  const main = document.getElementById("main");
  const ask = async (section, action) => {
    const text = section.querySelector("textarea");
    const body = { action, id: section.dataset.id, block: text.value, stamp: main.dataset.stamp };
    const answer = await fetch(location.pathname, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const said = await answer.text();
    if (!answer.ok) throw new Error(said);
    const [stamp, words] = said.split("\n");
    main.dataset.stamp = stamp;
    return words;
  };
  for (const button of document.querySelectorAll("button[data-action]")) {
    button.addEventListener("click", async () => {
      const section = button.closest("section"), status = section.querySelector("[role=status]");
      const all = document.querySelectorAll("button[data-action]");
      for (const one of all) one.disabled = true;
      try {
        status.textContent = await ask(section, button.dataset.action);
        if (button.dataset.action !== "save") {
          section.dataset.done = "";
          section.querySelector("textarea").disabled = true;
        }
      } catch (error) {
        status.textContent = error.message || "The server has ended.";
      }
      for (const one of all) one.disabled = "done" in one.closest("section").dataset;
    });
  }
})();
