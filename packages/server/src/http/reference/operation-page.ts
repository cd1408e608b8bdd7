import { exampleOf, type Example } from '@davit/contract/examples';
import { clientCall, curlCall } from './calls.ts';
import { fieldList, parameterList, type FieldsOptions } from './fields.ts';
import { html, type Html } from './html.ts';
import { codeAddress } from './links.ts';
import { inline, markdown, type AddressOf } from './markdown.ts';
import type { Answer, Body, Entry, ErrorRow, Model, Parameter } from './model.ts';
import { groupAddress } from './order.ts';
import { typeWords } from './schema.ts';
import { tryForm } from './try-form.ts';

export interface PageContext {
  readonly model: Model;
  readonly addressOf: AddressOf;
}

/** Returns the content of the page of an operation. */
export function operationPage(entry: Entry, context: PageContext): Html {
  const { operation, description, parameters } = entry;
  const example = exampleOf(operation.id);
  const parameterSection = (title: string, location: Parameter['in']): Html | undefined => {
    const members = parameters.filter((one) => one.in === location);
    if (members.length === 0) return undefined;
    return section(title, location, parameterList(members, optionsOf(context, `${location}-`, true)));
  };
  return html`<article class="operation" data-operation="${operation.id}">
    <div class="prose">
      <p class="crumbs"><a href="${groupAddress(operation.tag)}">${operation.tag}</a></p>
      <h1>${operation.summary}</h1>
      <p class="call">
        <span class="method ${operation.method.toLowerCase()}">${operation.method}</span>
        <code>${breakable(operation.path)}</code>
      </p>
      <div class="words lead">${markdown(description, context.addressOf)}</div>
      ${whoSection(entry, context)} ${parameterSection('Path', 'path')} ${parameterSection('Query', 'query')}
      ${requestSection(entry, context)} ${parameterSection('Headers', 'header')}
      ${entry.answers.map((answer) => answerSection(answer, entry, context))} ${errorSection(entry, context)}
    </div>
    <aside class="beside" aria-label="Example and trial">${examples(entry, example)} ${tryForm(entry, example)}</aside>
  </article>`;
}

function optionsOf({ model, addressOf }: PageContext, anchor: string, isRequest: boolean): FieldsOptions {
  return { model, addressOf, anchor, isRequest };
}

function section(title: Html | string, id: string, content: Html | readonly Html[] | undefined): Html {
  return html`<section id="${id}">
    <h2>${title}</h2>
    ${content}
  </section> `;
}

/** Lets a long path break before its slashes. */
function breakable(path: string): Html {
  return html`${path.split(/(?=\/)/).map((part) => html`<wbr />${part}`)}`;
}

function whoSection({ who }: Entry, { addressOf }: PageContext): Html {
  return section('Who may', 'who', html`<p class="words">${inline(who, addressOf)}</p>`);
}

function requestSection({ request }: Entry, context: PageContext): Html | undefined {
  if (request === undefined) return undefined;
  const title = html`Request ${typeOf(request)}${request.required ? undefined : html` <span class="maybe">may be left out</span>`}`;
  return section(title, 'request', bodyFields(request, optionsOf(context, 'request-', true)));
}

function answerSection({ status, body }: Answer, { operation }: Entry, context: PageContext): Html {
  const { events } = operation;
  // The second answer of an operation has no body, and so no fields whose anchors begin with its own.
  const id = status === operation.status ? 'answer' : `answer-${status}`;
  const title = html`Answer <span class="status">${status}</span> ${body === undefined ? undefined : typeOf(body)}`;
  if (body === undefined) return section(title, id, html`<p class="words">No body.</p>`);
  const stream =
    events === undefined
      ? undefined
      : html`<p class="words">Server-sent events until you disconnect. Each event has one of these shapes.</p>`;
  const schema = events === undefined ? body.schema : { anyOf: eventShapes(body) };
  return section(title, id, html`${stream}${bodyFields({ ...body, schema }, optionsOf(context, 'answer-', false))}`);
}

/** Returns the shapes of the events of a stream, which stand in the keyword `contentSchema`. */
function eventShapes({ schema }: Body): Body['schema'][] {
  return [...(schema.contentSchema?.anyOf ?? [])];
}

function typeOf({ schema, mediaType }: Body): Html {
  const words = mediaType === 'application/json' ? typeWords(schema) : html`${mediaType}`;
  return html`<span class="type">${words}</span>`;
}

function bodyFields(body: Body, options: FieldsOptions): Html {
  return fieldList(body.schema, options) ?? html`<p class="words">${body.schema.description ?? 'It has no fields.'}</p>`;
}

function errorSection(entry: Entry, context: PageContext): Html {
  const own = entry.errors.map((row) => errorItem(row, context));
  const known = new Set(entry.errors.map(({ code }) => code));
  const others = generalCodes(entry)
    .filter((code) => !known.has(code))
    .flatMap((code) => context.model.errors.get(code) ?? []);
  const list =
    own.length === 0
      ? undefined
      : html`<ul class="errors">
          ${own}
        </ul>`;
  return section(
    'Errors',
    'errors',
    html`${list}
      <details class="nested">
        <summary>${own.length === 0 ? 'Codes' : 'Further codes'} that this operation shares with others</summary>
        <ul class="errors">
          ${others.map((row) => errorItem(row, context))}
        </ul>
      </details>`,
  );
}

function errorItem({ code, status, cause, remedy }: ErrorRow, { addressOf, model }: PageContext): Html {
  return html`<li>
    <div class="field-head">
      <a href="${codeAddress(code, model)}"><code>${code}</code></a> <span class="type">${status}</span>
    </div>
    <div class="words">
      <p>${inline(cause, addressOf)}</p>
      <p class="remedy">${inline(remedy, addressOf)}</p>
    </div>
  </li>`;
}

/** Returns the codes that follow from the form of a request: its token, ids, body and headers. */
function generalCodes({ operation, parameters, request }: Entry): readonly string[] {
  const has = (name: string): boolean => parameters.some((one) => one.name === name);
  return [
    ...(request === undefined && !parameters.some((one) => one.in === 'query') ? [] : ['VALIDATION_FAILED']),
    ...(request === undefined ? [] : ['MALFORMED_JSON', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']),
    ...(operation.audience === 'anybody' ? [] : ['UNAUTHORIZED', 'TOKEN_EXPIRED', 'FORBIDDEN']),
    ...(parameters.some((one) => one.in === 'path') ? ['NOT_FOUND'] : []),
    ...(has('If-Match') ? ['PRECONDITION_FAILED'] : []),
    ...(has('Idempotency-Key') ? ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_KEY_BUSY', 'IDEMPOTENCY_ANSWER_LOST'] : []),
    'RATE_LIMITED',
    'INTERNAL',
    'DATABASE_UNAVAILABLE',
    'OVERLOADED',
  ];
}

function examples(entry: Entry, example: Example | undefined): Html {
  const answer = example?.answer;
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2);
  return html`<section class="example" aria-label="Example">
    <fieldset class="tabs-of-code">
      <legend class="sr-only">Example as</legend>
      <label><input type="radio" name="example" value="curl" checked /> curl</label>
      <label><input type="radio" name="example" value="client" /> TypeScript</label>
      <a class="to-try" href="#try">Try it</a>
    </fieldset>
    <div class="code curl"><pre tabindex="0">${curlCall(entry, example)}</pre></div>
    <div class="code client"><pre tabindex="0">${clientCall(entry, example)}</pre></div>
    ${
      answer === undefined
        ? undefined
        : html`<div class="answer-head">Answer <span class="status">${example?.status}</span></div>
            <div class="code"><pre tabindex="0">${text}</pre></div>`
    }
  </section>`;
}
