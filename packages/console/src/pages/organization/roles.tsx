import type { CallAnswer } from '@davit/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { customRolesOf } from '../../data/organization.ts';
import { useRefusal } from '../../data/rights.ts';
import { send } from '../../data/send.ts';
import { Button } from '../../parts/button.tsx';
import { EntryDialog } from '../../parts/entry-form.tsx';
import type { Entry } from '../../parts/entries.tsx';
import { Box, Cut } from '../../parts/page.tsx';
import { sentence } from '../../words.ts';
import { isList, valueAt, type Json } from '../../data/paths.ts';
import { RecordPart } from './record-page.tsx';

type CustomRole = CallAnswer<'listOrganizationCustomRoles'>['results'][number];

const builtIn = [
  ['Owner', 'Everything, also deleting the organization and passing it on.'],
  ['Admin', 'Everything but that.'],
  ['DevOps', 'Projects, environments, services, clusters; not members, roles and the organization itself.'],
  ['Billing manager', 'Reads the organization, its members and its clusters.'],
  ['Viewer', 'Reads everything but secrets.'],
] as const;

/** The roles that members and API tokens may have. */
export function RolesPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const [edited, edit] = useState<CustomRole | null>(null);
  const params = { organizationId };
  const roles = useQuery(customRolesOf(organizationId));
  const refusal = useRefusal('createOrganizationCustomRole', params);
  const queries = useQueryClient();
  const read = (): void => {
    for (const key of ['customRoles', 'roles']) void queries.invalidateQueries({ queryKey: [key, organizationId] });
  };
  return (
    <>
      <RecordPart
        kind={{
          title: 'Custom roles',
          one: 'role',
          about: 'It sees clusters and no project until you set its rights.',
          empty: 'A role of your own gives rights by project, by mode of the environments, and by cluster.',
          query: roles,
          queryKey: ['customRoles', organizationId],
          params,
          create: 'createOrganizationCustomRole',
          remove: 'deleteOrganizationCustomRole',
          idParameter: 'customRoleId',
          lost: 'No member, invitation or API token may have it any more.',
          initial: () => ({}),
          entries: () => nameEntries,
          onCreated: read,
          more: (role) => (
            <Button isSmall look="quiet" refusal={refusal} onClick={() => edit(role)}>
              Rights<span className="sr-only"> of {role.name}</span>
            </Button>
          ),
          columns: [
            {
              title: 'Role',
              cell: ({ name, description }) => (
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
            { title: 'Rights', isWideOnly: true, cell: (role) => <Cut text={summaryOf(role)} /> },
          ],
        }}
      />
      <Box title="Built-in roles">
        <dl className="definitions">
          {builtIn.map(([name, words]) => (
            <div key={name} className="contents">
              <dt>{name}</dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
      </Box>
      {edited !== null && (
        <EntryDialog
          title={`Rights of ${edited.name}`}
          isWide
          entries={() => [...nameEntries, ...rightEntries(edited)]}
          initial={valuesOf(edited)}
          verb="Save"
          onSubmit={(values) =>
            send('editOrganizationCustomRole', { ...params, customRoleId: edited.id }, roleBody(values)).then(read)
          }
          onClose={() => edit(null)}
        />
      )}
    </>
  );
}

const nameEntries: readonly Entry[] = [
  { path: 'name', label: 'Name', control: { kind: 'text' } },
  { path: 'description', label: 'Description', control: { kind: 'text' } },
];

const modes = ['DEVELOPMENT', 'STAGING', 'PRODUCTION', 'PREVIEW'] as const;
const projectRights = ['NO_ACCESS', 'VIEWER', 'DEPLOYER', 'MANAGER'] as const;

/** Two tables: the rights in each project by mode, and those on each cluster. */
function rightEntries({ project_permissions: projects, cluster_permissions: clusters }: CustomRole): Entry[] {
  const tables: Entry[] = [];
  for (const [index, project] of projects.entries()) {
    tables.push({
      path: `project_permissions.${index}.is_admin`,
      section: `Project ${project.project_name}`,
      label: 'May do everything in it',
      control: { kind: 'switch' },
    });
    for (const mode of modes) {
      tables.push({
        path: `project_permissions.${index}.${mode}`,
        section: `Project ${project.project_name}`,
        label: `${sentence(mode)} environments`,
        control: { kind: 'pick', options: projectRights.map((one) => [one, sentence(one)]) },
      });
    }
  }
  for (const [index, cluster] of clusters.entries()) {
    tables.push({
      path: `cluster_permissions.${index}.permission`,
      section: 'Clusters',
      label: cluster.cluster_name,
      control: {
        kind: 'pick',
        options: [
          ['VIEWER', 'Sees it'],
          ['ENV_CREATOR', 'Creates environments on it'],
          ['ADMIN', 'Administers it'],
        ],
      },
    });
  }
  return tables;
}

/** Returns a role as the form has it: objects by their places, so that each right has a path. */
function valuesOf({ name, description, project_permissions: projects, cluster_permissions: clusters }: CustomRole): Json {
  return {
    name,
    description,
    project_permissions: Object.fromEntries(
      projects.map(({ project_id, is_admin, permissions }, index) => [
        index,
        {
          project_id,
          is_admin,
          ...Object.fromEntries(
            modes.map((mode) => [mode, permissions.find((one) => one.environment_type === mode)?.permission ?? 'NO_ACCESS']),
          ),
        },
      ]),
    ),
    cluster_permissions: Object.fromEntries(
      clusters.map(({ cluster_id, permission }, index) => [index, { cluster_id, permission }]),
    ),
  };
}

function roleBody(values: Json): Json {
  const projects = membersOf(valueAt(values, 'project_permissions')).map((one) => ({
    project_id: valueAt(one, 'project_id'),
    is_admin: valueAt(one, 'is_admin'),
    permissions: modes.map((mode) => ({ environment_type: mode, permission: valueAt(one, mode) })),
  }));
  return {
    name: valueAt(values, 'name'),
    description: valueAt(values, 'description'),
    project_permissions: projects,
    cluster_permissions: membersOf(valueAt(values, 'cluster_permissions')),
  };
}

function membersOf(value: Json): Json[] {
  return typeof value === 'object' && value !== null && !isList(value) ? Object.values(value) : [];
}

function summaryOf({ project_permissions: projects, cluster_permissions: clusters }: CustomRole): string {
  const rights = projects.flatMap(({ project_name: name, is_admin: isAdmin, permissions }) => {
    const given = permissions.filter(({ permission }) => permission !== 'NO_ACCESS');
    if (isAdmin) return [`all of ${name}`];
    return given.length === 0 ? [] : [`${name}: ${given.map((one) => sentence(one.permission).toLowerCase()).join(', ')}`];
  });
  const further = clusters.filter(({ permission }) => permission !== 'VIEWER').map(({ cluster_name: name }) => `cluster ${name}`);
  return [...rights, ...further].join('; ') || 'Sees clusters only';
}
