import { currentSession, currentToken } from '../session.ts';
import { element } from './element.ts';

/** The entered token and ids by the name of the field, for the next pages. They are in this memory and nowhere else. */
const entered = new Map<string, string>();

/** Characters of an answer that are shown; streams and logs may be endless. */
const mostShown = 200_000;

/** The trial whose answer is being received. */
let running: AbortController | undefined;

/** Ends the trial of the page that is left: its stream would keep one of the few connections of the browser. */
export function endTrial(): void {
  running?.abort();
}

/** Shows the form of an operation and sends it to this server. */
export function setUpTrial(form: HTMLFormElement): void {
  form.hidden = false;
  for (const field of form.querySelectorAll<HTMLInputElement>('input')) {
    field.value = entered.get(field.name) ?? field.value;
    field.addEventListener('input', () => entered.set(field.name, field.value));
  }
  const who = form.querySelector('[data-who]');
  if (who !== null) who.textContent = whoSends();
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
}

function whoSends(): string {
  const stays = 'The token stays in the memory of this page.';
  if (currentToken() !== null) return `${stays} Without one, the token with which you signed in to the console is sent.`;
  if (currentSession() !== null) return `${stays} Without one, your session of the console is used.`;
  return `${stays} You are not signed in to the console.`;
}

interface Sent {
  readonly address: string;
  readonly init: RequestInit;
}

/** Returns the request that the form describes. */
function requestOf(form: HTMLFormElement): Sent {
  const { method = 'GET', path = '', media = '' } = form.dataset;
  const data = [...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value.trim() : ''] as const);
  const values = new Map(data);
  const filled = path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => encodeURIComponent(values.get(`path:${name}`) ?? ''));
  const query = new URLSearchParams(
    data.flatMap(([name, value]) => (name.startsWith('query:') && value !== '' ? [[name.slice('query:'.length), value]] : [])),
  ).toString();
  const token = values.get('token') || currentToken();
  const body = values.get('body') ?? '';
  const ifMatch = values.get('header:If-Match') ?? '';
  const headers = {
    ...(token === null ? {} : { authorization: `Token ${token}` }),
    ...(body === '' ? {} : { 'content-type': media }),
    ...(ifMatch === '' ? {} : { 'if-match': ifMatch }),
  };
  return { address: query === '' ? filled : `${filled}?${query}`, init: { method, headers, ...(body === '' ? {} : { body }) } };
}

async function send(form: HTMLFormElement): Promise<void> {
  const output = form.querySelector('output');
  const stop = form.querySelector<HTMLButtonElement>('[data-stop]');
  const submit = form.querySelector<HTMLButtonElement>('[type=submit]');
  if (output === null || stop === null || submit === null) return;
  const { address, init } = requestOf(form);
  const head = element('div', { class: 'answer-head' }, 'Waiting …');
  const text = element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Body of the answer' });
  const box = element('div', { class: 'code', hidden: true }, text);
  output.replaceChildren(head, box);
  const ending = (running = new AbortController());
  const end = (): void => ending.abort();
  stop.hidden = false;
  submit.disabled = true;
  stop.addEventListener('click', end);
  const began = performance.now();
  try {
    const answer = await fetch(address, { ...init, signal: ending.signal });
    head.textContent = `${answer.status} ${answer.statusText} · ${Math.round(performance.now() - began)} ms`;
    head.classList.toggle('bad', !answer.ok);
    await show(answer, text, box);
  } catch (error) {
    if (!ending.signal.aborted) head.textContent = `The server does not answer: ${String(error)}`;
    else if (box.hidden) head.textContent = 'Stopped.';
    else head.append(' · stopped');
  } finally {
    stop.removeEventListener('click', end);
    stop.hidden = true;
    submit.disabled = false;
  }
}

/** Shows the body while it arrives; JSON is formatted when it is complete. */
async function show(answer: Response, text: HTMLElement, box: HTMLElement): Promise<void> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let received = '';
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    received += part.value;
    box.hidden = false;
    text.textContent = received.length > mostShown ? `${received.slice(0, mostShown)}\n…` : received;
    if (received.length > mostShown) {
      await reader?.cancel();
      return;
    }
  }
  if (answer.headers.get('content-type')?.startsWith('application/json') === true && received !== '') {
    text.textContent = JSON.stringify(JSON.parse(received), null, 2);
  }
}
