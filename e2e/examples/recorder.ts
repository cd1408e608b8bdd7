import { operationList, textTypeOf, type Operation } from '@davit/contract';

/** One call of the story, as it was sent and answered. */
export interface RecordedCall {
  readonly operation: Operation;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly request: unknown;
  readonly status: number;
  readonly answer: unknown;
  /** When the request was sent, in milliseconds since 1970. */
  readonly sentAt: number;
  /** Whether the call is the example of its operation. Other calls only prepare something. */
  readonly isExample: boolean;
}

/** A part of an answer. A part that is missing is an empty object, so that a wrong path fails where its id is used. */
export interface Part {
  readonly [name: string]: unknown;
  readonly id: string;
  readonly results: readonly Part[];
}

export interface CallInput {
  /** Path parameters that differ from the ids of the world. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The status of a refusal, if the operation refuses this call. */
  readonly refusal?: number;
}

/** Who calls: the headers that prove it. They are asked for at each call, as cookies change. */
export interface Caller {
  headers(method: string): Readonly<Record<string, string>>;
  /** Is called with the headers of each answer. */
  answered?(headers: Headers): void;
}

const byId = new Map<string, Operation>(operationList.map((one) => [one.id, one]));

/** Sends calls to a server and keeps them. The first call of each operation is its example. */
export class Recorder {
  readonly calls: RecordedCall[] = [];
  /** Texts that are replaced wherever they appear: secrets, and addresses of this run. */
  readonly replacements = new Map<string, string>();
  /** The ids that paths are filled in with. */
  ids: Readonly<Record<string, string>> = {};
  readonly #baseUrl: string;
  readonly #shown = new Set<string>();

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** Replaces a text of this run by another one in all examples. */
  replace(text: unknown, by: string): string {
    if (typeof text !== 'string' || text === '') throw new Error(`there is no text to replace by ${by}`);
    this.replacements.set(text, by);
    return text;
  }

  /** Sends a call, which is the example of its operation unless there is one. Returns the answer. */
  call(caller: Caller, id: string, input: CallInput = {}): Promise<Part> {
    const isExample = !this.#shown.has(id);
    this.#shown.add(id);
    return this.#send(caller, id, input, isExample);
  }

  /** Sends a call that prepares something and is no example. Returns the answer. */
  prepare(caller: Caller, id: string, input: CallInput = {}): Promise<Part> {
    return this.#send(caller, id, input, false);
  }

  /** Reads until the condition holds. The reads are not part of the story, as their number differs between runs. */
  async until(caller: Caller, id: string, input: CallInput, holds: (answer: Part, text: string) => boolean): Promise<Part> {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const { text } = await this.#fetch(caller, operationOf(id), input);
      const answer = parse(text);
      if (holds(answer, text)) return answer;
      if (Date.now() > deadline) throw new Error(`${id} did not become what the story needs: ${text}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Follows a stream until an event of this name was received. */
  async follow(caller: Caller, id: string, input: CallInput, event: string): Promise<void> {
    const operation = operationOf(id);
    const stop = new AbortController();
    const sentAt = Date.now();
    const response = await fetch(this.#url(operation, input), {
      headers: { ...caller.headers('GET'), accept: 'text/event-stream' },
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)]),
    });
    if (!response.ok || response.body === null) throw new Error(`${id}: ${response.status} ${await response.text()}`);
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      text += decoder.decode(chunk, { stream: true });
      const end = endOfEvent(text, event);
      if (end === -1) continue;
      this.#shown.add(id);
      this.#keep(operation, input, { status: response.status, answer: text.slice(0, end), sentAt, isExample: true });
      break;
    }
    stop.abort();
  }

  async #send(caller: Caller, id: string, input: CallInput, isExample: boolean): Promise<Part> {
    const operation = operationOf(id);
    const sentAt = Date.now();
    const { status, text } = await this.#fetch(caller, operation, input);
    const expected = input.refusal === undefined ? [operation.status, operation.otherStatus] : [input.refusal];
    if (!expected.includes(status)) throw new Error(`${id}: ${status} ${text}`);
    const isText = textTypeOf(operation) !== undefined && operation.response !== null && input.refusal === undefined;
    const answer: unknown = text === '' ? undefined : isText ? text : JSON.parse(text);
    this.#keep(operation, input, { status, answer, sentAt, isExample });
    return isText ? emptyPart : parse(text);
  }

  #keep(operation: Operation, input: CallInput, more: Pick<RecordedCall, 'status' | 'answer' | 'sentAt' | 'isExample'>): void {
    const path = this.#path(operation, input);
    this.calls.push({ operation, path, query: input.query ?? {}, request: input.body, ...more });
  }

  async #fetch(caller: Caller, operation: Operation, input: CallInput): Promise<{ status: number; text: string }> {
    const { body } = input;
    const type = operation.mediaType ?? 'application/json';
    const response = await fetch(this.#url(operation, input), {
      method: operation.method,
      headers: { ...caller.headers(operation.method), ...(body !== undefined && { 'content-type': type }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    caller.answered?.(response.headers);
    return { status: response.status, text: await response.text() };
  }

  #url(operation: Operation, input: CallInput): string {
    const query = new URLSearchParams(input.query).toString();
    return `${this.#baseUrl}${this.#path(operation, input)}${query === '' ? '' : `?${query}`}`;
  }

  #path({ id, path }: Operation, { params }: CallInput): string {
    const known: Readonly<Record<string, string>> = { ...this.ids, ...params };
    return path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => {
      const value = known[name];
      if (value === undefined) throw new Error(`the path of ${id} needs ${name}`);
      return encodeURIComponent(value);
    });
  }
}

function operationOf(id: string): Operation {
  const operation = byId.get(id);
  if (operation === undefined) throw new Error(`${id} is no operation`);
  return operation;
}

const emptyPart: Part = { id: '', results: [] };

function parse(text: string): Part {
  return text.startsWith('{') ? { ...emptyPart, ...JSON.parse(text) } : emptyPart;
}

/** Returns the index after the first event of this name in a text of server-sent events; -1 if there is none yet. */
function endOfEvent(text: string, event: string): number {
  const begin = new RegExp(`^event: ?${event}$`, 'm').exec(text)?.index;
  const end = begin === undefined ? -1 : text.indexOf('\n\n', begin);
  return end === -1 ? -1 : end + 2;
}

/** Returns a caller with an API token, or with the token of an issuer. */
export function bearerOf(token: string, scheme = 'Token'): Caller {
  return { headers: () => ({ authorization: `${scheme} ${token}` }) };
}

/** A caller without any proof. */
export const anybody: Caller = { headers: () => ({}) };

/** A caller in a browser: the cookies of the answers are sent with the next calls. */
export class BrowserCaller implements Caller {
  readonly #cookies = new Map<string, string>();
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
  }

  headers(method: string): Readonly<Record<string, string>> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return {
      ...(method !== 'GET' && { origin: this.#origin }),
      ...(cookie !== '' && { cookie }),
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
    };
  }

  answered(headers: Headers): void {
    for (const cookie of headers.getSetCookie()) {
      const [name = '', value = ''] = cookie.split(';')[0]?.split(/=(.*)/s) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
  }
}
