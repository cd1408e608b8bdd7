import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { organizations, projectsOf } from '../../data/queries.ts';
import { useRefusal } from '../../data/rights.ts';
import { send } from '../../data/send.ts';
import { callOf } from '../../command-line.ts';
import { Button } from '../../parts/button.tsx';
import type { Entry } from '../../parts/entries.tsx';
import { ErrorNote, LoadingRows } from '../../parts/face.tsx';
import { Box } from '../../parts/page.tsx';
import { RecordForm } from '../../parts/record-form.tsx';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import { plural } from '../../words.ts';

const entries: readonly Entry[] = [
  { path: 'name', label: 'Name', control: { kind: 'text' } },
  { path: 'description', label: 'Description', control: { kind: 'text' } },
  { path: 'website_url', label: 'Website', control: { kind: 'text' } },
  { path: 'repository', label: 'Repository', control: { kind: 'text' } },
  { path: 'admin_emails', label: 'Addresses of the administrators', help: 'One a line.', control: { kind: 'lines' } },
];

/** Name and facts of the organization, and its end. */
export function OrganizationSettings(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const params = { organizationId };
  const organization = useQuery(organizations).data?.find(({ id }) => id === organizationId);
  const refusal = useRefusal('editOrganization', params);
  // The owner alone passes the role on, and deletes the organization.
  const deleteRefusal = useRefusal('postOrganizationTransferOwnership', params);
  const queries = useQueryClient();
  if (organization === undefined) {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  const { name, description, website_url, repository, admin_emails, updated_at } = organization;
  return (
    <>
      <div className="box form-box">
        <RecordForm
          key={organizationId}
          entries={entries}
          stored={{
            version: updated_at,
            values: {
              name,
              description: description ?? '',
              website_url: website_url ?? '',
              repository: repository ?? '',
              admin_emails: admin_emails ?? [],
            },
          }}
          refusal={refusal}
          guide={(values) => ({
            steps: {
              title: 'What a change does',
              lines: [
                'Nothing is deployed or restarted.',
                'The new name is unique in the installation, and stands in the rail of all members.',
                'The plan and the owner are not changed here.',
              ],
            },
            command: callOf('editOrganization', params, values),
          })}
          onSave={(values, version) =>
            send('editOrganization', params, values, version).finally(() => {
              void queries.invalidateQueries({ queryKey: ['organizations'] });
            })
          }
        />
      </div>
      <DeleteOrganization organizationId={organizationId} name={name} refusal={deleteRefusal} />
    </>
  );
}

interface DeleteProps {
  readonly organizationId: string;
  readonly name: string;
  readonly refusal: string | null;
}

function DeleteOrganization({ organizationId, name, refusal }: DeleteProps): ReactNode {
  const [isAsked, ask] = useState(false);
  const { data: projects, error } = useQuery(projectsOf(organizationId));
  const queries = useQueryClient();
  const navigate = useNavigate();
  const action = useMutation({
    mutationFn: () => send('deleteOrganization', { organizationId }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['organizations'] });
      await navigate({ to: '/', ignoreBlocker: true });
    },
  });
  const inUse =
    projects === undefined
      ? error === null
        ? 'Its projects are being read.'
        : 'Its projects could not be read.'
      : projects.length === 0
        ? null
        : `Delete its ${plural(projects.length, 'project')} first.`;
  return (
    <Box title="Delete">
      <div className="setting">
        <p className="text-muted">
          Only its owner can delete an organization, and only without projects. Members, tokens, credentials, clusters and the
          audit log go with it.
        </p>
        <div>
          <Button refusal={refusal ?? inUse} onClick={() => ask(true)}>
            Delete {name}
          </Button>
          <ErrorNote error={action.error} />
        </div>
      </div>
      {isAsked && (
        <TypedConfirm
          title={`Delete ${name}?`}
          name={name}
          verb="Delete"
          onConfirm={() => action.mutate()}
          onClose={() => ask(false)}
        >
          <p>Its members, roles, tokens, registries, credentials, clusters and its audit log are lost. This cannot be undone.</p>
        </TypedConfirm>
      )}
    </Box>
  );
}
