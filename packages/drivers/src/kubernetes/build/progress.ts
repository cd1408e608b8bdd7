import type { BuildOutput } from '../../shared/build/output.ts';
import type { Trace } from '../../shared/build/trace.ts';

/*
 * The output of `buildctl build --progress=rawjson` is BuildKit's progress as lines of JSON (`SolveStatus` of its
 * client/graph.go, version 0.32). A failed build ends with some lines of text, one of which begins with `error:`.
 */

interface SolveStatus {
  readonly vertexes?: readonly {
    readonly digest?: string;
    readonly name?: string;
    readonly started?: string;
    readonly completed?: string;
    readonly cached?: boolean;
    readonly error?: string;
  }[];
  readonly statuses?: readonly { readonly id?: string; readonly vertex?: string }[];
  readonly logs?: readonly { readonly vertex?: string; readonly data?: string }[];
  readonly warnings?: readonly { readonly short?: string }[];
}

/**
 * Steps in which an image is exported and pushed. Other steps, of each layer that is copied, are too many for a log.
 */
const reportedStatus = /^(?:exporting|pushing|naming|preparing|sending)\b(?!.*sha256:)/;
const keptLines = 20;

/** Converts the output of `buildctl`, in chunks that end anywhere, into the output of a build. */
export class BuildctlOutput {
  readonly #output: BuildOutput;
  readonly #decoder = new TextDecoder();
  readonly #reported = new Set<string>();
  #rest = '';
  #text: string[] = [];

  constructor(output: BuildOutput) {
    this.#output = output;
  }

  write(piece: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  /** Returns the message with which `buildctl` failed, or '' if it printed none. */
  end(): string {
    this.#line(this.#rest);
    this.#rest = '';
    // The response of a registry may follow on lines of its own.
    const from = this.#text.findLastIndex((line) => line.startsWith('error: '));
    const output = this.#text.slice(Math.max(from, 0)).join('\n');
    return output.replace(/^error: (?:failed to solve: )?/, '');
  }

  #line(line: string): void {
    if (line.trim() === '') return;
    const status = parse(line);
    if (status === null) this.#text = [...this.#text, line].slice(-keptLines);
    else this.#output.trace(this.#toTrace(status));
  }

  #toTrace({ vertexes = [], statuses = [], logs = [], warnings = [] }: SolveStatus): Trace {
    const news = statuses.filter(({ id = '', vertex = '' }) => {
      const isNew = reportedStatus.test(id) && !this.#reported.has(`${vertex} ${id}`);
      if (isNew) this.#reported.add(`${vertex} ${id}`);
      return isNew;
    });
    return {
      vertexes: vertexes.map(({ digest = '', name = '', started, completed, cached, error = '' }) => ({
        digest,
        name,
        isCached: cached === true,
        isStarted: started !== undefined,
        isCompleted: completed !== undefined,
        error,
      })),
      logs: [
        ...news.map(({ id = '', vertex = '' }) => ({ vertex, text: `${id}\n` })),
        ...logs.map(({ vertex = '', data = '' }) => ({ vertex, text: decoded(data) })),
      ],
      warnings: warnings.map(({ short = '' }) => decoded(short)),
    };
  }
}

function parse(line: string): SolveStatus | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as SolveStatus; // oxlint-disable-line typescript/no-unsafe-type-assertion -- the image of the builder is trusted
  } catch {
    return null;
  }
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
