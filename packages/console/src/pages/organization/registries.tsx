import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { helmRepositoriesOf, registriesOf, registryKinds } from '../../data/organization.ts';
import type { Entry } from '../../parts/entries.tsx';
import { filled } from '../../parts/values.ts';
import { Cut } from '../../parts/page.tsx';
import type { RecordColumn } from '../../parts/records.tsx';
import { plural, sentence } from '../../words.ts';
import { valueAt, type Json } from '../../data/paths.ts';
import { RecordPart, type Item } from './record-page.tsx';

/** Registries of images and repositories of charts. Their secrets are never shown. */
export function RegistriesPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const registries = useQuery(registriesOf(organizationId));
  const repositories = useQuery(helmRepositoriesOf(organizationId));
  const kinds = useQuery(registryKinds).data;
  const params = { organizationId };
  return (
    <>
      <RecordPart
        kind={{
          title: 'Container registries',
          one: 'registry',
          about: 'Davit pulls images from it with these credentials.',
          empty: 'Containers and jobs get their images from a registry.',
          query: registries,
          queryKey: registriesOf(organizationId).queryKey,
          params,
          create: 'createContainerRegistry',
          edit: 'editContainerRegistry',
          remove: 'deleteContainerRegistry',
          idParameter: 'containerRegistryId',
          lost: 'Its credentials are lost. Images stay in the registry.',
          initial: (record) => (record === null ? { kind: 'GENERIC_CR', config: {} } : initialOf(record)),
          entries: (values) => sourceEntries(values, kinds?.registries ?? new Map()),
          body: (values) => filled(values),
          columns: sourceColumns,
        }}
      />
      <RecordPart
        kind={{
          title: 'Helm repositories',
          one: 'Helm repository',
          about: 'Davit gets charts from it.',
          empty: 'Helm services get their charts from a repository, or from git.',
          query: repositories,
          queryKey: helmRepositoriesOf(organizationId).queryKey,
          params,
          create: 'createHelmRepository',
          edit: 'editHelmRepository',
          remove: 'deleteHelmRepository',
          idParameter: 'helmRepositoryId',
          lost: 'Its credentials are lost. Installed charts stay.',
          initial: (record) =>
            record === null
              ? { kind: 'HTTPS', skip_tls_verification: false, config: {} }
              : { ...initialOf(record), skip_tls_verification: record.skip_tls_verification },
          entries: (values) => [
            ...sourceEntries(values, kinds?.repositories ?? new Map()),
            {
              path: 'skip_tls_verification',
              label: 'Trust any certificate',
              help: 'Only for a repository in your own network.',
              control: { kind: 'switch' },
            },
          ],
          body: (values) => filled(values),
          columns: sourceColumns,
        }}
      />
    </>
  );
}

interface Source extends Item {
  readonly kind: string;
  readonly url: string;
  readonly description?: string;
  readonly config: Readonly<Record<string, string | undefined>>;
  readonly associated_services_count: number;
}

function initialOf({ name, kind, url, description = '', config }: Source): { readonly [name: string]: Json } {
  return { name, kind, url, description, config };
}

const secrets = new Set(['secret_access_key', 'vendora_secret_key', 'password']);

/** The fields of a registry or repository: the credentials are those that its kind needs. */
function sourceEntries(values: Json, kinds: ReadonlyMap<string, readonly string[]>): Entry[] {
  const kind = valueAt(values, 'kind');
  const needed = kinds.get(typeof kind === 'string' ? kind : '') ?? [];
  const members = needed.length > 0 ? needed : ['username', 'password'];
  return [
    { path: 'name', label: 'Name', control: { kind: 'text' } },
    { path: 'kind', label: 'Kind', control: { kind: 'pick', options: [...kinds.keys()].map((one) => [one, kindWords(one)]) } },
    {
      path: 'url',
      label: 'Address',
      help: 'As https://registry.example.org. Some kinds have a fixed one.',
      control: { kind: 'text' },
    },
    ...members.map((member): Entry => {
      const isSecret = secrets.has(member);
      return {
        path: `config.${member}`,
        label: sentence(member),
        ...(isSecret && { help: 'Never shown again. Empty in an edit: it stays.' }),
        control: { kind: member === 'json_credentials' ? 'secret-code' : isSecret ? 'secret' : 'text' },
      };
    }),
    { path: 'description', label: 'Description', control: { kind: 'text' } },
  ];
}

function kindWords(kind: string): string {
  return sentence(kind.replace(/_CR$/, ' registry').replace(/^OCI_/, 'OCI '));
}

const sourceColumns: readonly RecordColumn<Source>[] = [
  {
    title: 'Name',
    cell: ({ name, kind, description = '' }) => (
      <>
        <div className="name">
          <Cut text={name} />
        </div>
        <div className="under">
          <Cut text={[kindWords(kind), description].filter((one) => one !== '').join(' · ')} />
        </div>
      </>
    ),
  },
  { title: 'Address', isWideOnly: true, cell: ({ url }) => <Cut text={url} /> },
  { title: 'Used by', width: '16%', cell: ({ associated_services_count: count }) => usedBy(count) },
];

export function usedBy(count: number): ReactNode {
  return count === 0 ? <span className="text-muted">Nothing</span> : plural(count, 'service');
}
