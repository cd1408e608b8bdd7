import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { gitTokensOf } from '../../data/organization.ts';
import { filled } from '../../parts/values.ts';
import { Ago, Cut } from '../../parts/page.tsx';
import { sentence } from '../../words.ts';
import { RecordPart } from './record-page.tsx';
import { usedBy } from './registries.tsx';

const providers = ['GENERIC', 'HOSTA', 'HOSTB', 'HOSTC'] as const;

/** Tokens with which private repositories are read. */
export function GitTokensPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  return (
    <RecordPart
      kind={{
        title: 'Git tokens',
        one: 'git token',
        about: 'It needs the right to read the repositories, and for automatic deployments to read their hooks.',
        empty: 'Public repositories need none. A private one is read with a token of its host.',
        query: useQuery(gitTokensOf(organizationId)),
        queryKey: gitTokensOf(organizationId).queryKey,
        params: { organizationId },
        create: 'createGitToken',
        edit: 'editGitToken',
        remove: 'deleteGitToken',
        idParameter: 'gitTokenId',
        lost: 'Its value is lost. The host still accepts it: revoke it there.',
        initial: (record) =>
          record === null
            ? { type: 'GENERIC' }
            : {
                name: record.name,
                description: record.description ?? '',
                type: record.type,
                workspace: record.workspace ?? '',
                git_api_url: record.git_api_url,
              },
        entries: () => [
          { path: 'name', label: 'Name', control: { kind: 'text' } },
          { path: 'type', label: 'Host', control: { kind: 'pick', options: providers.map((one) => [one, sentence(one)]) } },
          {
            path: 'token',
            label: 'Token',
            help: 'Never shown again. Empty in an edit: it stays.',
            control: { kind: 'secret' },
          },
          { path: 'git_api_url', label: 'Address of the host', help: 'Only for a host of your own.', control: { kind: 'text' } },
          { path: 'workspace', label: 'Workspace', help: 'Only where the host has them.', control: { kind: 'text' } },
          { path: 'description', label: 'Description', control: { kind: 'text' } },
        ],
        body: (values) => filled(values),
        columns: [
          {
            title: 'Token',
            cell: ({ name, type, description = '' }) => (
              <>
                <div className="name">
                  <Cut text={name} />
                </div>
                <div className="under">
                  <Cut text={[sentence(type), description].filter((one) => one !== '').join(' · ')} />
                </div>
              </>
            ),
          },
          { title: 'Used by', width: '20%', cell: ({ associated_services_count: count }) => usedBy(count) },
          { title: 'Created', width: '16%', isWideOnly: true, cell: ({ created_at: at }) => <Ago at={at} /> },
        ],
      }}
    />
  );
}
