import { codeOf } from '../errors.ts';
import { printable } from './text.ts';

/** A stream as commands write to it. `columns` is there if it is a terminal. */
export interface Sink {
  write(text: string, onWritten?: (error?: Error | null) => void): boolean;
  on(event: 'error', listener: (error: Error) => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export type Style = 'red' | 'green' | 'yellow' | 'blue' | 'grey' | 'bold';
const styles: Readonly<Record<Style, readonly [number, number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [36, 39],
  grey: [90, 39],
  bold: [1, 22],
};

export type Mark = 'ok' | 'bad' | 'go' | 'wait' | 'off' | 'warn';
const marks: Readonly<Record<Mark, readonly [string, string, Style]>> = {
  ok: ['✓', 'ok', 'green'],
  bad: ['✗', '!!', 'red'],
  go: ['◐', '..', 'blue'],
  wait: ['○', '..', 'grey'],
  off: ['○', '--', 'grey'],
  warn: ['▲', '! ', 'yellow'],
};

type Environment = Readonly<Partial<Record<string, string>>>;

/**
 * Where commands write. Data goes to stdout, everything else to stderr. Once stdout is closed, as by `| head`, further
 * data is dropped and `closed` aborts.
 */
export class Output {
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  readonly #closed = new AbortController();
  readonly #isUnicode: boolean;
  readonly #hasColor: boolean;
  #failure: Error | null = null;

  constructor(stdout: Sink, stderr: Sink, environment: Environment) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    const locale = environment['LC_ALL'] || environment['LC_CTYPE'] || environment['LANG'] || '';
    this.#isUnicode = /utf-?8/i.test(locale) || process.platform === 'win32';
    this.#hasColor = (environment['NO_COLOR'] ?? '') === '' && environment['TERM'] !== 'dumb';
    stdout.on('error', (error) => this.#onFailure(error));
    // Nothing can be said about a stderr that is closed.
    stderr.on('error', () => undefined);
  }

  /** Aborts when stdout was closed by its reader. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** The error with which stdout failed, such as a full disk; null if it works or was closed by its reader. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Whether people see what `talk` writes. */
  get isTerminal(): boolean {
    return this.#stderr.isTTY === true;
  }

  /** Whether people see what `data` writes. */
  get isDataTerminal(): boolean {
    return this.#stdout.isTTY === true;
  }

  /** Columns of the terminal. Infinity: the data goes to a file or program, and nothing is cut. */
  get dataColumns(): number {
    return this.isDataTerminal ? (this.#stdout.columns ?? 80) || 80 : Infinity;
  }

  get columns(): number {
    return (this.#stderr.columns ?? 80) || 80;
  }

  /** Writes a line of data to stdout. */
  data(text: string): void {
    this.raw(`${text}\n`);
  }

  /** Writes data to stdout, byte for byte. */
  raw(text: string): void {
    if (this.#closed.signal.aborted || this.#failure !== null) return;
    this.#stdout.write(text);
  }

  /** Waits until all data is written, or could not be. */
  async flush(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#closed.signal.addEventListener('abort', () => resolve(), { once: true });
      this.#stdout.write('', () => resolve());
    });
  }

  json(value: unknown): void {
    this.data(JSON.stringify(value, null, 2));
  }

  /** Writes a line for people to stderr. What others wrote into it cannot act on the terminal. */
  talk(text = ''): void {
    this.#stderr.write(`${printable(text)}\n`);
  }

  /** Writes to stderr without a line break: the parts of a display that changes in place. */
  draw(text: string): void {
    this.#stderr.write(text);
  }

  /** Colours a text for stderr (default) or stdout, where that is a terminal. */
  style(style: Style, text: string, where: 'talk' | 'data' = 'talk'): string {
    const isTerminal = where === 'talk' ? this.isTerminal : this.isDataTerminal;
    if (!this.#hasColor || !isTerminal) return text;
    const [on, off] = styles[style];
    return `\u001B[${on}m${text}\u001B[${off}m`;
  }

  /** Returns a mark in its colour: a shape where the locale is UTF-8, otherwise plain ASCII. */
  mark(mark: Mark, where: 'talk' | 'data' = 'talk'): string {
    const [shape, plain, style] = marks[mark];
    return this.style(style, this.#isUnicode ? shape : plain, where);
  }

  /** Returns the first text where the locale is UTF-8, otherwise the second. */
  either(unicode: string, ascii: string): string {
    return this.#isUnicode ? unicode : ascii;
  }

  #onFailure(error: Error): void {
    if (codeOf(error) !== 'EPIPE') this.#failure ??= error;
    this.#closed.abort();
  }
}
