import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { apiTokensOf, rolesOf } from '../../data/organization.ts';
import { textOf } from '../../data/send.ts';
import type { Entry } from '../../parts/entries.tsx';
import { filled } from '../../parts/values.ts';
import { Once } from '../../parts/once.tsx';
import { Ago, Cut } from '../../parts/page.tsx';
import { State } from '../../parts/state.tsx';
import { fullTime, useNow } from '../../time.ts';
import { sentence } from '../../words.ts';
import { valueAt, withValueAt, type Json } from '../../data/paths.ts';
import { RecordPart } from './record-page.tsx';

const scopes = [
  ['READ', 'Read: sees everything but secrets'],
  ['DEPLOY', 'Deploy: also deploys, stops and restarts'],
  ['WRITE', 'Write: also creates, edits and deletes'],
  ['ADMIN', 'Admin: also members, roles, tokens, clusters'],
  ['', 'The rights of a role'],
] as const;

/** The API tokens of the organization. The value of one is shown when it is created, and never again. */
export function TokensPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const [secret, show] = useState<string | null>(null);
  const tokens = useQuery(apiTokensOf(organizationId));
  const roles = useQuery(rolesOf(organizationId)).data ?? [];
  const role: Entry = {
    path: 'role_id',
    label: 'Role',
    control: {
      kind: 'pick',
      options: roles.filter(({ name }) => name !== 'Owner').map(({ id, name }) => [id, name]),
      none: 'Choose a role',
    },
  };
  return (
    <>
      <RecordPart
        kind={{
          title: 'API tokens',
          one: 'API token',
          about: 'For programs: the command line, a pipeline, Terraform. Give it no more rights than it needs.',
          empty: 'Programs sign in with a token of their own, which can be deleted at any time.',
          query: tokens,
          queryKey: apiTokensOf(organizationId).queryKey,
          params: { organizationId },
          create: 'createOrganizationApiToken',
          remove: 'deleteOrganizationApiToken',
          idParameter: 'apiTokenId',
          lost: 'Programs that use it are refused at once.',
          initial: () => ({ scope: 'DEPLOY' }),
          entries: (values) => [
            { path: 'name', label: 'Name', help: 'What uses it, as “pipeline of the shop”.', control: { kind: 'text' } },
            { path: 'scope', label: 'Rights', control: { kind: 'pick', options: scopes } },
            ...(valueAt(values, 'scope') === '' ? [role] : []),
            {
              path: 'expires_at',
              label: 'Expires',
              help: 'At the end of that day, in your time zone. Empty: never.',
              control: { kind: 'date' },
            },
          ],
          body: tokenBody,
          onCreated: (answer) => show(textOf(answer, 'token')),
          columns: [
            {
              title: 'Token',
              cell: ({ name, description = '' }) => (
                <>
                  <div className="name">
                    <Cut text={name} />
                  </div>
                  <div className="under">
                    <Cut text={description} />
                  </div>
                </>
              ),
            },
            {
              title: 'Rights',
              width: '18%',
              cell: ({ scope, role_name: name }) => <Cut text={scope === undefined ? (name ?? '') : sentence(scope)} />,
            },
            { title: 'Expires', width: '22%', cell: ({ expires_at: at }) => <Expiry at={at ?? null} /> },
            { title: 'Created', width: '14%', isWideOnly: true, cell: ({ created_at: at }) => <Ago at={at} /> },
          ],
        }}
      />
      {secret !== null && (
        <Once title="The new API token" text={secret} onClose={() => show(null)}>
          Davit keeps no copy that it could show: this is the only time. If you lose it, create another one.
        </Once>
      )}
    </>
  );
}

function Expiry({ at }: { readonly at: string | null }): ReactNode {
  const now = useNow();
  // On a phone the column has no heading.
  if (at === null) return <span className="text-muted">Never expires</span>;
  const isOver = Date.parse(at) <= now;
  return isOver ? <State shape="off">Expired</State> : <Cut text={fullTime(at)} />;
}

/** Returns the request: a date is the end of that day, and a role takes the place of a scope. */
function tokenBody(values: Json): Json {
  const date = valueAt(values, 'expires_at');
  const scope = valueAt(values, 'scope');
  const body = filled(scope === '' ? values : withValueAt(values, 'role_id', null));
  if (typeof date !== 'string' || date === '') return body;
  return withValueAt(body, 'expires_at', new Date(`${date}T23:59:59`).toISOString());
}
