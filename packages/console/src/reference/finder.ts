import type { ReferenceRow } from '@davit/contract';
import { element } from './element.ts';
import { excerpt, makeIndex, type SearchIndex } from './search.ts';

const kinds = { operation: 'Operation', type: 'Type', field: 'Field', error: 'Error', group: 'Group' } as const;

let index: Promise<SearchIndex> | undefined;

/** Loads the index once; a failure is tried again at the next search. */
function loadIndex(): Promise<SearchIndex> {
  index ??= fetch('/docs/search.json')
    .then(async (answer) => {
      if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
      const rows: readonly ReferenceRow[] = await answer.json();
      return makeIndex(rows);
    })
    .catch((error: unknown) => {
      index = undefined;
      throw error;
    });
  return index;
}

/** Opens the search by the button, Ctrl K, ⌘K or a slash. The arrow keys choose, Enter opens. */
export function setUpFinder(button: HTMLElement): void {
  const finder = makeFinder();
  button.hidden = false;
  button.addEventListener('click', finder.open);
  for (const event of ['pointerenter', 'focus']) button.addEventListener(event, () => void loadIndex().catch(() => undefined));
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
    const isShortcut = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
    if (!isShortcut && (event.key !== '/' || isTyping)) return;
    event.preventDefault();
    finder.open();
  });
}

function makeFinder(): { open: () => void } {
  const input = element('input', {
    type: 'text',
    role: 'combobox',
    'aria-label': 'Search the reference',
    'aria-expanded': 'true',
    'aria-controls': 'found',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'An operation, a field, a type, an error',
  });
  const list = element('div', { class: 'found', id: 'found', role: 'listbox', 'aria-label': 'Found' });
  const none = element('div', { class: 'none', role: 'status', hidden: true });
  const dialog = element('dialog', { class: 'search', 'aria-label': 'Search' }, input, list, none);
  document.body.append(dialog);
  let chosen = 0;
  const choose = (location: number): void => {
    const options = [...list.children];
    chosen = Math.max(0, Math.min(options.length - 1, location));
    for (const [at, option] of options.entries()) option.setAttribute('aria-selected', String(at === chosen));
    const one = options[chosen];
    if (one === undefined) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', one.id);
    one?.scrollIntoView({ block: 'nearest' });
  };
  const say = (text: string): void => {
    none.textContent = text;
    none.hidden = text === '';
  };
  const show = (loaded: SearchIndex): void => {
    const rows = loaded.find(input.value);
    list.replaceChildren(...rows.map((row, at) => optionOf(row, at, input.value)));
    list.hidden = rows.length === 0;
    say(rows.length > 0 || input.value.trim() === '' ? '' : 'Nothing has these words.');
    choose(0);
  };
  // The first search waits for the index; the later ones are done before the next frame.
  let ready: SearchIndex | undefined;
  const search = async (): Promise<void> => {
    try {
      ready ??= await loadIndex();
      show(ready);
    } catch (error) {
      say(`The search could not be loaded: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  input.addEventListener('input', () => void search());
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') choose(chosen + 1);
    else if (event.key === 'ArrowUp') choose(chosen - 1);
    else if (event.key === 'Enter') list.querySelector<HTMLElement>('[aria-selected=true]')?.click();
    else return;
    event.preventDefault();
  });
  list.addEventListener('click', () => dialog.close());
  // A click beside the dialog has the dialog itself as its target.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  const open = (): void => {
    if (dialog.open) return;
    dialog.showModal();
    input.select();
    void search();
  };
  return { open };
}

function optionOf([kind, name, location, address, words]: ReferenceRow, at: number, text: string): HTMLElement {
  const title = element('span', { class: 'name' }, name);
  if (location !== '') title.append(element('span', { class: 'place' }, ` · ${location}`));
  const attributes = { id: `found-${at}`, role: 'option', href: address, tabindex: '-1' };
  const link = element('a', attributes, element('span', { class: 'kind' }, kinds[kind]), title);
  // The id and path of an operation are for the search; people read its description.
  const shown = kind === 'operation' ? words.replace(/^\S+ \S+ \S+ /, '') : words;
  if (shown !== '') link.append(element('span', { class: 'line' }, excerpt(shown, text)));
  return link;
}
