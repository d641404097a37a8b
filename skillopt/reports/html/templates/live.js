"use strict";
(() => {
  const status = document.getElementById("live");
  let seen = ""; // what is seen first may be older than what the first look finds
  const say = (text) => { status.textContent = text; status.hidden = !text; };
  const renew = async () => {
    const answer = await fetch(location.pathname);
    if (!answer.ok) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const open = new Set([...document.querySelectorAll("details[open][id]")].map((one) => one.id));
    for (const name of ["header", "main"]) {
      const now = document.querySelector(`.page > ${name}`), next = page.querySelector(`.page > ${name}`);
      if (now && next) now.replaceWith(next);
    }
    for (const one of document.querySelectorAll("details[id]")) one.open = open.has(one.id);
  };
  const look = async () => {
    try {
      const answer = await fetch(location.pathname, { method: "HEAD", cache: "no-store" });
      if (!answer.ok) throw new Error(answer.status);
      const stamp = answer.headers.get("ETag") || "";
      if (stamp !== seen) await renew();
      seen = stamp;
      say("");
    } catch {
      say("The server has ended or has a new address; this is the last state that it sent.");
    }
    setTimeout(look, 2000);
  };
  look();
})();
