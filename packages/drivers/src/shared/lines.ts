import { StringDecoder } from 'node:string_decoder';

/**
 * Longest line, in characters. Longer than any line of a deployment log, so that no visible line is cut before its
 * secrets are redacted.
 */
const longestLine = 65_536;
const mark = ' … (the line is longer)';

/**
 * Splits the output of a program into lines. Cuts lines that are too long; `readline` would keep them whole, so a
 * program that prints no line break would fill the memory of the process.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #onLine: (line: string) => void;
  #line = '';
  #isCut = false;
  #isAfterReturn = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  write(chunk: Buffer): void {
    this.#take(this.#decoder.write(chunk));
  }

  /** Text after the last line break is a line too. */
  end(): void {
    this.#take(this.#decoder.end());
    if (this.#line !== '') this.#emit();
  }

  #take(text: string): void {
    if (text === '') return;
    // The two characters of one line break (CR LF) may arrive separately.
    const [first = '', ...others] = (this.#isAfterReturn && text.startsWith('\n') ? text.slice(1) : text).split(/\r\n|\n|\r/);
    this.#isAfterReturn = text.endsWith('\r');
    this.#add(first);
    for (const one of others) {
      this.#emit();
      this.#add(one);
    }
  }

  #add(text: string): void {
    const remaining = longestLine - this.#line.length;
    if (text.length > remaining) this.#isCut = true;
    this.#line += text.slice(0, remaining);
  }

  #emit(): void {
    const line = this.#isCut ? this.#line + mark : this.#line;
    this.#line = '';
    this.#isCut = false;
    this.#onLine(line);
  }
}

/** Keeps the last lines, up to a number of lines and a total length. */
export class LastLines {
  readonly #most: number;
  readonly #maxLength: number;
  readonly lines: string[] = [];
  #length = 0;

  constructor(most: number, maxLength: number) {
    this.#most = most;
    this.#maxLength = maxLength;
  }

  add(line: string): void {
    this.lines.push(line);
    this.#length += line.length;
    while (this.lines.length > this.#most || (this.#length > this.#maxLength && this.lines.length > 1)) {
      this.#length -= this.lines.shift()?.length ?? 0;
    }
  }
}
