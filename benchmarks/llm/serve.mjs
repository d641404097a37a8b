// Serve one GGUF model as Chat Completions on the loopback device, until stdin ends.
//
//     node serve.mjs ENGINE WEIGHTS
//
// Prints its port. One thread: with more, small machines spend their time waiting. Answers are the most likely tokens,
// each from an empty context, so that an answer depends on its request alone.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [engine, modelPath] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(engine));
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 2048, threads: 1 });
const sequence = context.getSequence();

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

async function complete({ messages, max_tokens: most }) {
  const asked = render(messages);
  const said = [];
  let ended = "length";
  await sequence.clearHistory();
  for await (const token of sequence.evaluate(asked, { temperature: 0 })) {
    if (model.isEogToken(token)) {
      ended = "stop";
      break;
    }
    said.push(token);
    if (said.length >= most) break;
  }
  const message = { role: "assistant", content: model.detokenize(said) };
  return {
    choices: [{ index: 0, finish_reason: ended, message }],
    usage: { prompt_tokens: asked.length, completion_tokens: said.length },
  };
}

let turn = Promise.resolve(); // there is one context, so requests take turns
const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  response.setHeader("content-type", "application/json");
  try {
    const wanted = JSON.parse(Buffer.concat(parts).toString());
    const answered = turn.then(() => complete(wanted));
    turn = answered.catch(() => {});
    response.end(JSON.stringify(await answered));
  } catch (error) {
    response.statusCode = error instanceof SyntaxError ? 400 : 500;
    response.end(JSON.stringify({ error: { message: String(error) } }));
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
