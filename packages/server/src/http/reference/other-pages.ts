import { fieldAnchor, fieldList } from './fields.ts';
import { html, type Html, type Part } from './html.ts';
import { markdown } from './markdown.ts';
import type { PageContext } from './operation-page.ts';
import { operationAddress, type Group } from './order.ts';
import { typeAddress, typeWords } from './schema.ts';

/** Returns the content of the page of a group: its operations with the first sentence of each. */
export function groupPage({ tag, description, topics }: Group): Html {
  return html`<div class="prose wide">
    <h1>${tag}</h1>
    <p class="words lead">${description}.</p>
    ${topics.map(
      ({ title, operations }) =>
        html`<section>
          ${topics.length > 1 ? html`<h2>${title}</h2>` : undefined}
          <ul class="rows">
            ${operations.map(
              ({ id, summary, method, path, description: words = '' }) =>
                html`<li>
                  <a href="${operationAddress(id)}"
                    ><span class="row-title">${summary}</span>
                    <span class="row-call"
                      ><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></span
                    ></a
                  >
                  <p class="under">${firstSentence(words)}</p>
                </li>`,
            )}
          </ul>
        </section> `,
    )}
  </div>`;
}

/** Returns the first sentence of a description, without backticks. */
export function firstSentence(text: string): string {
  const [paragraph = ''] = text.trim().split(/\n\s*\n/);
  const line = paragraph.replaceAll(/\s*\n\s*/g, ' ').replaceAll('`', '');
  return /^.*?[.!?](?= [A-Z]|$)/.exec(line)?.[0] ?? line;
}

/** Returns the content of the page of a type: its fields or values, and where it is used. */
export function typePage(name: string, { model, addressOf }: PageContext): Html | undefined {
  const schema = model.types.get(name);
  if (schema === undefined) return undefined;
  const users = model.users.get(name);
  const operations = [...(users?.operations ?? [])];
  const types = [...(users?.types ?? [])].filter((one) => one !== name);
  const isRequest =
    /(Request|Edit)$/.test(name) || operations.some((id) => model.entries.get(id)?.request?.schema.$ref?.endsWith(`/${name}`));
  const fields = fieldList(schema, { model, addressOf, anchor: fieldAnchor, isRequest });
  const values = (schema.enum ?? []).filter(() => !/^- `/m.test(schema.description ?? ''));
  return html`<div class="prose wide">
    <p class="crumbs">Type</p>
    <h1>${name}</h1>
    ${schema.properties === undefined && schema.enum === undefined ? html`<p class="type">${typeWords(schema)}</p>` : undefined}
    <div class="words lead">${markdown(schema.description ?? '', addressOf)}</div>
    ${values.length === 0 ? undefined : html`<p class="words">${joined(values.map((value) => html`<code>${String(value)}</code>`))}</p>`}
    ${
      fields === undefined
        ? undefined
        : html`<section id="fields">
            <h2>Fields</h2>
            ${fields}
          </section>`
    }
    ${
      operations.length === 0
        ? undefined
        : used(
            'Operations with it',
            operations.map((id) => html`<a href="${operationAddress(id)}">${model.entries.get(id)?.operation.summary ?? id}</a>`),
          )
    }
    ${
      types.length === 0
        ? undefined
        : used(
            'Types with it',
            types.map((one) => html`<a href="${typeAddress(one)}">${one}</a>`),
          )
    }
  </div>`;
}

function used(title: string, links: readonly Html[]): Html {
  return html`<section>
    <h2>${title}</h2>
    <ul class="uses">
      ${links.map((link) => html`<li>${link}</li>`)}
    </ul>
  </section>`;
}

function joined(parts: readonly Html[]): Html {
  return html`${parts.flatMap((part, index): Part[] => (index === 0 ? [part] : [', ', part]))}`;
}
