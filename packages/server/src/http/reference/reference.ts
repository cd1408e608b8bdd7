import { operationList } from '@davit/contract';
import { errorsPage } from './errors-page.ts';
import { addressesOfFiles, fileAt, guidePage, titleOf, type Guides } from './guides.ts';
import { framed, type Page } from './frame.ts';
import { html } from './html.ts';
import { addressesIn, addressesInText } from './links.ts';
import { readModel } from './model.ts';
import { operationPage, type PageContext } from './operation-page.ts';
import { groupAddress, readingOrder, type Group, type Section } from './order.ts';
import { groupPage, typePage } from './other-pages.ts';
import { searchRows } from './search-rows.ts';
import { startPage } from './start-page.ts';

const missing = html`<div class="prose">
  <h1>No such page</h1>
  <p class="words lead">Search for it, or begin at the <a href="/docs">first page</a>.</p>
</div>`;

/** The pages of the reference of the API. They are made from the contract when they are asked for. */
export class Reference {
  readonly #version: string;
  readonly #guides: Guides;
  readonly #sections: readonly Section[] = readingOrder(operationList);
  readonly #groups: ReadonlyMap<string, Group>;
  #context: PageContext | undefined;

  constructor(version: string, guides: Guides) {
    this.#version = version;
    this.#guides = guides;
    const groups = this.#sections.flatMap((section) => section.groups);
    this.#groups = new Map(groups.map((group) => [group.address, group]));
  }

  /** Returns the page at an address below `/docs`, such as `/types/Project`; undefined if there is none. */
  page(address: string): string | undefined {
    const page = this.#pageOf(address);
    return page === undefined ? undefined : framed(page, this.#sections, this.#version);
  }

  /** Returns the page for addresses that lead nowhere. */
  missingPage(): string {
    return framed({ title: 'No such page', content: missing }, this.#sections, this.#version);
  }

  /** Returns the index of the search, as JSON. */
  searchIndex(): string {
    return JSON.stringify(searchRows(this.#read().model, this.#sections));
  }

  #pageOf(address: string): Page | undefined {
    if (address === '/') return { title: 'Start', content: startPage(this.#sections) };
    if (address === '/errors') return this.#errorsPage();
    const guide = fileAt(address, this.#guides);
    if (guide !== undefined) return this.#guidePage(guide);
    const [, kind = '', name = ''] = /^\/([^/]+)\/([^/]+)$/.exec(address) ?? [];
    switch (kind) {
      case 'groups':
        return this.#groupPage(name);
      case 'types':
        return this.#typePage(name);
      case 'operations':
        return this.#operationPage(name);
      default:
        return undefined;
    }
  }

  #errorsPage(): Page {
    const { model } = this.#read();
    const [inText, ofFiles] = [addressesInText(model), addressesOfFiles(this.#guides)];
    return { title: 'Errors', content: errorsPage(this.#errors, model, (word) => inText(word) ?? ofFiles(word)) };
  }

  #guidePage(file: string): Page {
    const content = guidePage(file, this.#guides, addressesInText(this.#read().model));
    return { title: titleOf(this.#guides.get(file) ?? ''), content };
  }

  get #errors(): string {
    return this.#guides.get('errors.md') ?? '';
  }

  #groupPage(name: string): Page | undefined {
    const group = this.#groups.get(`/docs/groups/${name}`);
    return group === undefined ? undefined : { title: group.tag, content: groupPage(group), group: group.address };
  }

  #typePage(name: string): Page | undefined {
    const content = typePage(name, this.#read());
    return content === undefined ? undefined : { title: name, content };
  }

  #operationPage(id: string): Page | undefined {
    const context = this.#read();
    const entry = context.model.entries.get(id);
    if (entry === undefined) return undefined;
    const { summary, tag } = entry.operation;
    return { title: summary, content: operationPage(entry, context), group: groupAddress(tag), operation: id };
  }

  /** Reads the document of the API when the first page needs it: that takes longer than making a page. */
  #read(): PageContext {
    if (this.#context === undefined) {
      const model = readModel(this.#version, this.#errors);
      this.#context = { model, addressOf: addressesIn(model) };
    }
    return this.#context;
  }
}
