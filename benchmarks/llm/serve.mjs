// Serve one GGUF model as Chat Completions on the loopback device, until stdin ends.
//
//     node serve.mjs ENGINE WEIGHTS PORT CONTEXTS
//
// Prints its port. One thread an answer: with more, small machines spend their time waiting. Answers are the most
// likely tokens. A context keeps the system prompt that it read, with the skill, and a request takes a free context that
// has its own. The system prompt is always read by itself and the rest in one go: what is read together rounds alike, so
// that an answer does not depend on what was asked before. An answer whose client has gone is given up.
import { createServer } from "node:http";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const [engine, modelPath, port, contexts] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(engine));
const llama = await getLlama({ gpu: false, build: "never", maxThreads: Number(contexts), logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath });
const free = [];
for (let at = 0; at < Number(contexts); at++) {
  free.push((await model.createContext({ contextSize: 8192, threads: 1 })).getSequence());
}
const waiting = []; // requests for which no context is free

// Only the marks of the template are special; what stands in a message is text.
const mark = (text) => model.tokenize(text, true);
const tokensOf = ({ role, content }) => [
  ...mark(`<|im_start|>${role}\n`),
  ...model.tokenize(content, false),
  ...mark("<|im_end|>\n"),
];

// The parts that are read one after the other: the first message where it is the system prompt, and the others.
function render(messages) {
  const first = messages.length > 1 && messages[0].role === "system" ? 1 : 0;
  const parts = [messages.slice(0, first), messages.slice(first)].map((some) => some.flatMap(tokensOf));
  return [parts[0], [...parts[1], ...mark("<|im_start|>assistant\n")]];
}

const keeps = (system, sequence) => system.length > 0 && system.every((token, at) => sequence.contextTokens[at] === token);

async function complete([system, rest], most, sequence, isGone) {
  const said = [];
  const cached = keeps(system, sequence) ? system.length : 0;
  await sequence.eraseContextTokenRanges([{ start: cached, end: sequence.nextTokenIndex }]);
  if (system.length > cached) await sequence.evaluateWithoutGeneratingNewTokens(system);
  for await (const token of sequence.evaluate(rest, { temperature: 0 })) { // until the token that ends an answer
    said.push(token);
    if (said.length >= most || isGone()) break;
  }
  const ended = said.length >= most ? "length" : "stop";
  const message = { role: "assistant", content: model.detokenize(said) };
  return {
    choices: [{ index: 0, finish_reason: ended, message }],
    usage: {
      prompt_tokens: system.length + rest.length,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens: said.length,
    },
  };
}

function take([system]) {
  const own = free.findIndex((sequence) => keeps(system, sequence));
  return free.splice(Math.max(own, 0), 1)[0];
}

async function inTurn({ messages, max_tokens: most }, isGone) {
  const asked = render(messages);
  const sequence = free.length ? take(asked) : await new Promise((resolve) => waiting.push(resolve));
  try {
    return isGone() ? {} : await complete(asked, most, sequence, isGone);
  } finally {
    const next = waiting.shift();
    if (next) next(sequence);
    else free.push(sequence);
  }
}

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  response.setHeader("content-type", "application/json");
  if (request.url === "/v1/models") {
    response.end(JSON.stringify({ object: "list", data: [{ id: basename(modelPath, ".gguf"), object: "model" }] }));
    return;
  }
  try {
    response.end(JSON.stringify(await inTurn(JSON.parse(Buffer.concat(parts).toString()), () => response.destroyed)));
  } catch (error) {
    response.statusCode = error instanceof SyntaxError ? 400 : 500;
    response.end(JSON.stringify({ error: { message: String(error) } }));
  }
});
server.listen(Number(port), "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
