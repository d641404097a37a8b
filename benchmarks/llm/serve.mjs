// Serve one GGUF model as Chat Completions on the loopback device, until stdin ends.
//
//     node serve.mjs ENGINE WEIGHTS PORT CONTEXTS
//
// Prints its port. One thread an answer: with more, small machines spend their time waiting. Answers are the most
// likely tokens. A context keeps what it read, and a request takes the free context that shares its longest beginning:
// the skill and the system prompt are read once for all tasks.
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
const render = (messages) => [
  ...messages.flatMap(({ role, content }) => [
    ...mark(`<|im_start|>${role}\n`),
    ...model.tokenize(content, false),
    ...mark("<|im_end|>\n"),
  ]),
  ...mark("<|im_start|>assistant\n"),
];

function shared(tokens, sequence) {
  const kept = sequence.contextTokens;
  let at = 0; // the last token is read anew: what follows it is not kept
  while (at < Math.min(kept.length, tokens.length - 1) && kept[at] === tokens[at]) at++;
  return at;
}

async function complete(asked, most, sequence) {
  const said = [];
  const cached = shared(asked, sequence);
  await sequence.eraseContextTokenRanges([{ start: cached, end: sequence.nextTokenIndex }]);
  for await (const token of sequence.evaluate(asked.slice(cached), { temperature: 0 })) { // until the token that ends an answer
    said.push(token);
    if (said.length >= most) break;
  }
  const ended = said.length >= most ? "length" : "stop";
  const message = { role: "assistant", content: model.detokenize(said) };
  return {
    choices: [{ index: 0, finish_reason: ended, message }],
    usage: {
      prompt_tokens: asked.length,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens: said.length,
    },
  };
}

function take(asked) {
  const best = free.reduce((one, other) => (shared(asked, other) > shared(asked, one) ? other : one));
  return free.splice(free.indexOf(best), 1)[0];
}

async function inTurn({ messages, max_tokens: most }) {
  const asked = render(messages);
  const sequence = free.length ? take(asked) : await new Promise((resolve) => waiting.push(resolve));
  try {
    return await complete(asked, most, sequence);
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
    response.end(JSON.stringify(await inTurn(JSON.parse(Buffer.concat(parts).toString()))));
  } catch (error) {
    response.statusCode = error instanceof SyntaxError ? 400 : 500;
    response.end(JSON.stringify({ error: { message: String(error) } }));
  }
});
server.listen(Number(port), "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
