import type { Example } from '@davit/contract/examples';
import { pathValues } from './calls.ts';
import { html, type Html } from './html.ts';
import type { Entry, Parameter } from './model.ts';

/**
 * Returns the form that sends the operation to this server. The script of the page shows and submits it; without the
 * script it stays hidden.
 */
export function tryForm(entry: Entry, example: Example | undefined): Html {
  const { operation, parameters, request } = entry;
  const { method, path, summary, audience } = operation;
  const known = example === undefined ? {} : pathValues(path, example.path);
  const fields = parameters
    .filter((one) => one.in !== 'header' || one.name === 'If-Match')
    .map((one) => parameterField(one, one.in === 'path' ? known[one.name] : undefined));
  const body = example?.request ?? (request?.required === true ? {} : undefined);
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body, null, 2);
  const token =
    audience === 'anybody'
      ? undefined
      : html`<label class="try-field"
            ><span>API token</span><input type="password" name="token" autocomplete="off" spellcheck="false"
          /></label>
          <p class="under" data-who>
            The token stays in this page and is forgotten with it. Empty: your session of the console, if you are signed in.
          </p>`;
  return html`<form
    class="try"
    id="try"
    data-method="${method}"
    data-path="${path}"
    data-media="${request?.mediaType ?? ''}"
    hidden
  >
    <h2>Try it</h2>
    ${token} ${fields}
    ${request === undefined ? undefined : html`<label class="try-field"><span>Body</span><textarea name="body" rows="8" spellcheck="false" autocapitalize="off">${text}</textarea></label>`}
    <div class="try-do">
      <button type="submit" class="button ${method === 'DELETE' ? 'danger' : 'main'}">${summary}</button
      ><button type="button" class="button" data-stop hidden>Stop</button>
    </div>
    <output class="try-answer" aria-live="polite"></output>
  </form>`;
}

function parameterField({ name, in: location, required, schema }: Parameter, example: string | undefined): Html {
  const field = `${location}:${name}`;
  const label = html`<span
    ><code>${name}</code>${required ? undefined : html` <span class="maybe">may be left out</span>`}</span
  >`;
  const values = schema.type === 'boolean' ? ['true', 'false'] : (schema.enum ?? []).map(String);
  if (values.length > 0) {
    const options = values.map((value) => html`<option>${value}</option>`);
    return html`<label class="try-field"
      >${label}<select name="${field}">
        ${required ? undefined : html`<option value=""></option>`}${options}
      </select></label
    >`;
  }
  const must = required ? html` required` : undefined;
  const hint = example === undefined ? undefined : html` placeholder="${example}"`;
  return html`<label class="try-field"
    >${label}<input name="${field}" autocomplete="off" spellcheck="false" autocapitalize="off" ${must}${hint}
  /></label>`;
}
