import { decodeTrace, type Trace, type TraceVertex } from './trace.ts';

/** The outcome of a build, as far as the engine's response has been read. */
export interface BuildOutcome {
  readonly imageId: string | null;
  readonly error: BuildError | null;
  /** The last instruction that was started, as written: `RUN npm ci`. '' before the first one. */
  readonly instruction: string;
  /** Output of that instruction, newest last. */
  readonly instructionLines: readonly string[];
  /** Last lines of the whole build. */
  readonly lines: readonly string[];
  /** Number of RUN instructions that BuildKit executed and did not take from its cache. */
  readonly commands: number;
}

export interface BuildError {
  readonly message: string;
  /** The exit code, if the engine reports it as a number. */
  readonly code: number | null;
}

const keptLines = 50;
// oxlint-disable-next-line no-control-regex -- colours and cursor movements of programs that think they have a terminal
const escapeSequences = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b[@-Z\\-_]|[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g;

const engineLine = /^((\[\d+\/\d+\] )?STEP \d+\/\d+: |--> |container exited on |Successfully |COMMIT )/;

/** Converts the stream of JSON messages of a build (BuildKit, Podman) to log lines and an outcome. */
export class BuildOutput {
  readonly #log: (line: string) => void;
  #rest = '';
  #partial = '';
  #imageId: string | null = null;
  #error: BuildError | null = null;
  #instruction = '';
  #instructionLines: string[] = [];
  #lines: string[] = [];
  #commands = 0;
  readonly #vertexes = new Map<string, { number: number; partial: string; ended: boolean }>();
  #begun = 0;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** Takes the next chunk of the response. Chunks may end anywhere. */
  write(piece: string): void {
    const lines = (this.#rest + piece).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#message(line);
  }

  /** Adds a line that belongs to no step, unchanged. */
  say(line: string): void {
    this.#line(line);
  }

  end(): BuildOutcome {
    if (this.#rest.trim() !== '') this.#message(this.#rest);
    if (this.#partial !== '') this.#line(this.#partial);
    return {
      imageId: this.#imageId,
      error: this.#error,
      instruction: this.#instruction,
      instructionLines: this.#instructionLines,
      lines: this.#lines,
      commands: this.#commands,
    };
  }

  #message(json: string): void {
    if (json.trim() === '') return;
    const message = parseMessage(json);
    if (message === null) return;
    if (message.id === 'moby.buildkit.trace' && typeof message.aux === 'string') this.trace(decodeTrace(message.aux));
    else if (isObject(message.aux) && typeof message.aux['ID'] === 'string') this.#imageId = message.aux['ID'];
    else if (typeof message.stream === 'string') this.#text(message.stream);
    // Progress of a pull: logged once per change of state, not once per kilobyte.
    else if (typeof message.status === 'string' && message.progress === undefined) {
      this.#line([message.id, message.status].filter((part) => typeof part === 'string').join(': '));
    }
    const error = errorOf(message);
    if (error) this.#error = error;
  }

  #text(text: string): void {
    // Output of a command need not end with a line break, but the engine's next message is still a line of its own.
    if (this.#partial !== '' && engineLine.test(text)) {
      this.#line(this.#partial);
      this.#partial = '';
    }
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) this.#podmanLine(line);
  }

  #podmanLine(line: string): void {
    const step = /^(?:\[\d+\/\d+\] )?STEP \d+\/\d+: (.*)/.exec(line);
    if (step) {
      this.#instruction = step[1] ?? '';
      this.#instructionLines = [];
    }
    this.#line(line);
  }

  /** Takes the next chunk of BuildKit's progress. */
  trace(trace: Trace): void {
    for (const vertex of trace.vertexes) this.#vertex(vertex);
    for (const { vertex, text } of trace.logs) {
      const state = this.#vertexes.get(vertex);
      const lines = ((state?.partial ?? '') + text).split('\n');
      const partial = lines.pop() ?? '';
      if (state) state.partial = partial;
      for (const line of lines) this.#line(`#${state?.number ?? 0} ${line}`);
    }
    for (const warning of trace.warnings) this.#line(`WARNING: ${warning}`);
  }

  #vertex(vertex: TraceVertex): void {
    const state = this.#vertexes.get(vertex.digest) ?? { number: 0, partial: '', ended: false };
    this.#vertexes.set(vertex.digest, state);
    if (vertex.isStarted && state.number === 0) {
      // Steps are numbered in the order in which they start, as BuildKit announces them long before that.
      state.number = this.#begun += 1;
      this.#line(`#${state.number} ${vertex.name}`);
    }
    if (!vertex.isCompleted || state.ended) return;
    state.ended = true;
    if (!vertex.isCached && /^\[[^\]]*\] RUN\b/.test(vertex.name)) this.#commands += 1;
    if (state.partial !== '') this.#line(`#${state.number} ${state.partial}`);
    if (vertex.isCached) this.#line(`#${state.number} CACHED`);
    if (vertex.error === '' || /context canceled/.test(vertex.error)) return;
    // Steps run in parallel: the failed step is the one to report, with its own lines.
    this.#instruction = vertex.name.replace(/^\[[^\]]*\] /, '');
    this.#instructionLines = this.#lines
      .filter((line) => line.startsWith(`#${state.number} `))
      .map((line) => line.slice(`#${state.number} `.length));
  }

  #line(raw: string): void {
    // The visible part of a progress bar: the text after its last carriage return.
    const line = raw.replace(/\r+$/, '').split('\r').at(-1)!.replace(escapeSequences, '').trimEnd();
    if (line === '') return;
    this.#log(line);
    this.#lines = [...this.#lines, line].slice(-keptLines);
    if (!line.startsWith('--> ')) this.#instructionLines = [...this.#instructionLines, line].slice(-keptLines);
  }
}

interface Message {
  readonly id?: unknown;
  readonly aux?: unknown;
  readonly stream?: unknown;
  readonly status?: unknown;
  readonly progress?: unknown;
  readonly error?: unknown;
  readonly errorDetail?: unknown;
}

function parseMessage(json: string): Message | null {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : null;
  } catch {
    // The connection ended in the middle of a message. The missing result already indicates that.
    return null;
  }
}

function errorOf(message: Message): BuildError | null {
  const detail = isObject(message.errorDetail) ? message.errorDetail : {};
  const text = typeof detail['message'] === 'string' ? detail['message'] : message.error;
  if (typeof text !== 'string' || text === '') return null;
  return { message: text.trim(), code: typeof detail['code'] === 'number' ? detail['code'] : null };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
