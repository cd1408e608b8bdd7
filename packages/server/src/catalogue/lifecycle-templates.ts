import type { ErrorDetail } from '@davit/base';
import { credentialProviders, type CredentialProvider } from '@davit/contract';
import { parseDocument, readDocument, type DocumentKind } from './document.ts';
import { shape } from './schema.ts';

export interface LifecycleTemplate {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Link to further information. */
  readonly source_url: string;
  /** Vendors whose clusters can use the template; left out: all clusters. */
  readonly cloud_providers?: readonly CredentialProvider[];
  /** Settings for the events of a job: `on_start`, `on_stop` and `on_delete`. */
  readonly events: readonly {
    readonly name: 'start' | 'stop' | 'delete';
    readonly entrypoint?: string;
    readonly command: readonly string[];
  }[];
  readonly max_duration_in_sec: number;
  readonly resources: { readonly cpu_milli: number; readonly ram_mib: number };
  readonly variables: readonly {
    readonly name: string;
    readonly description: string;
    /** Default value; with `file`, the content of the file. */
    readonly default: string;
    readonly is_secret: boolean;
    readonly file?: { readonly path: string; readonly enable_interpolation: boolean };
  }[];
  /** Built with the files of the job's repository as its context. */
  readonly dockerfile: string;
}

/** Templates of lifecycle jobs: one data file, read at the start. `docs/jobs.md` explains how to replace it. */
export interface LifecycleTemplates {
  readonly version: string;
  readonly templates: readonly LifecycleTemplate[];
}

const text = { type: 'string', minLength: 1, maxLength: 255 };
const long = { type: 'string', maxLength: 100_000 };
const truth = { type: 'boolean' };
const positive = { type: 'integer', minimum: 1, maximum: 2_147_483_647 };
const list = (items: unknown, more: object = {}): object => ({ type: 'array', items, ...more });

const event = shape({ name: { enum: ['start', 'stop', 'delete'] }, entrypoint: text, command: list(long) }, ['entrypoint']);
const variable = shape(
  {
    name: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 255 },
    description: { type: 'string', maxLength: 255 },
    default: long,
    is_secret: truth,
    file: shape({ path: { type: 'string', pattern: '^/.+' }, enable_interpolation: truth }),
  },
  ['file'],
);
const template = shape(
  {
    id: { type: 'string', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
    name: text,
    description: { type: 'string', minLength: 1, maxLength: 10_000 },
    source_url: { type: 'string', pattern: '^https?://\\S+$', maxLength: 2000 },
    cloud_providers: list({ enum: credentialProviders }, { minItems: 1 }),
    events: list(event, { minItems: 1 }),
    max_duration_in_sec: positive,
    resources: shape({ cpu_milli: { ...positive, minimum: 10 }, ram_mib: { ...positive, minimum: 6 } }),
    variables: list(variable),
    dockerfile: { type: 'string', maxLength: 100_000, pattern: '(^|\\n)[ \\t]*[Ff][Rr][Oo][Mm][ \\t]' },
  },
  ['cloud_providers'],
);

const kind: DocumentKind<LifecycleTemplates> = {
  what: 'file of lifecycle templates',
  variable: 'DAVIT_LIFECYCLE_TEMPLATES',
  ownFile: new URL('../../data/lifecycle-templates.json', import.meta.url),
  schema: shape({ version: text, templates: list(template) }),
  contradictions: ({ templates }) => [
    ...repeated(templates.map(({ id }) => id)).map((id) => ({ path: 'templates', message: `has the id ${id} twice` })),
    ...templates.flatMap(contradictionsOf),
  ],
};

function contradictionsOf({ events, variables }: LifecycleTemplate, index: number): ErrorDetail[] {
  const at = `templates.${index}`;
  return [
    ...repeated(events.map(({ name }) => name)).map((name) => ({ path: `${at}.events`, message: `has the event ${name} twice` })),
    ...repeated(variables.map(({ name }) => name)).map((name) => ({ path: `${at}.variables`, message: `has ${name} twice` })),
  ];
}

function repeated(words: readonly string[]): string[] {
  return words.filter((word, index) => words.indexOf(word) < index);
}

/** Reads the templates from `file`, or Davit's own. Throws CATALOGUE_INVALID with the faults. */
export function readLifecycleTemplates(file: string | null): Promise<LifecycleTemplates> {
  return readDocument(kind, file);
}

/** Parses the templates from their text. `name` appears in error messages. */
export function parseLifecycleTemplates(content: string, name: string): LifecycleTemplates {
  return parseDocument(kind, content, name);
}
