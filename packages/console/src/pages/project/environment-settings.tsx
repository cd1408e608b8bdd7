import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { use, useState, type ReactNode } from 'react';
import { clustersOf } from '../../data/organization.ts';
import { environmentOf, servicesIn } from '../../data/queries.ts';
import { useRefusal } from '../../data/rights.ts';
import { send, textOf } from '../../data/send.ts';
import { TreeContext } from '../../data/tree.ts';
import { callOf } from '../../command-line.ts';
import { Button } from '../../parts/button.tsx';
import type { Entry } from '../../parts/entries.tsx';
import { EntryDialog } from '../../parts/entry-form.tsx';
import { ErrorNote, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Box } from '../../parts/page.tsx';
import { RecordForm } from '../../parts/record-form.tsx';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import { environmentEntries, modes } from './entries.ts';
import { lossOf } from './loss.ts';

/** Name, mode and cluster of an environment; its copy, and its end. */
export function EnvironmentSettings(): ReactNode {
  const { environmentId = '' } = useParams({ strict: false });
  const environment = useQuery(environmentOf(environmentId));
  const organizationId = environment.data?.organization.id ?? '';
  const clusters = useQuery({ ...clustersOf(organizationId), enabled: organizationId !== '' });
  const refusal = useRefusal('editEnvironment', { environmentId });
  // Who may edit an environment by a custom role may not delete it: that needs all rights in the project.
  const deleteRefusal = useRefusal('editProject', { projectId: environment.data?.project.id ?? '' });
  const queries = useQueryClient();
  if (environment.data === undefined) {
    if (environment.error !== null) return <FailedFace error={environment.error} />;
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  const { name, mode, cluster_id, auto_preview, updated_at } = environment.data;
  const read = (): Promise<unknown> =>
    Promise.all(
      ['environment', 'environments', 'details', 'overview'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
    );
  return (
    <>
      <div className="box form-box">
        <RecordForm
          key={environmentId}
          entries={environmentEntries(clusters.data ?? [])}
          stored={{ version: updated_at, values: { name, mode, cluster_id, auto_preview } }}
          isPlain
          refusal={refusal}
          guide={(values) => ({
            steps: {
              title: 'What a change does',
              lines: [
                'Nothing is deployed or restarted.',
                'Commands and git remotes that have the old name stop working.',
                'With another cluster, each service moves there with its next deployment. Volumes are not moved.',
                'The mode decides which custom roles may do what here.',
              ],
            },
            command: callOf('editEnvironment', { environmentId }, values),
          })}
          onSave={(values, version) => send('editEnvironment', { environmentId }, values, version).finally(() => void read())}
        />
      </div>
      <CloneEnvironment environmentId={environmentId} name={name} refusal={refusal} />
      <DeleteEnvironment environmentId={environmentId} name={name} refusal={deleteRefusal} />
    </>
  );
}

interface PartProps {
  readonly environmentId: string;
  readonly name: string;
  readonly refusal: string | null;
}

function CloneEnvironment({ environmentId, name, refusal }: PartProps): ReactNode {
  const [isAsked, ask] = useState(false);
  const { projects } = use(TreeContext);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const own = projects.find(({ environments }) => environments.some(({ id }) => id === environmentId));
  const entries: Entry[] = [
    { path: 'name', label: 'Name of the copy', control: { kind: 'text' } },
    { path: 'mode', label: 'Mode', control: modes },
    { path: 'project_id', label: 'Project', control: { kind: 'pick', options: projects.map((one) => [one.id, one.name]) } },
  ];
  const clone = async (values: Parameters<typeof send>[2]): Promise<void> => {
    const id = textOf(await send('cloneEnvironment', { environmentId }, values), 'id');
    for (const key of ['environments', 'overview']) void queries.invalidateQueries({ queryKey: [key] });
    await navigate({ to: '/environment/$environmentId', params: { environmentId: id } });
  };
  return (
    <Box title="Clone">
      <div className="setting">
        <p className="text-muted">
          A copy gets the stages, services, variables and secrets. It gets no data, and nothing of it runs until you deploy it.
        </p>
        <div>
          <Button refusal={refusal} onClick={() => ask(true)}>
            Clone this environment
          </Button>
        </div>
      </div>
      {isAsked && (
        <EntryDialog
          title={`Clone ${name}`}
          entries={() => entries}
          initial={{ name: `${name} copy`, mode: 'DEVELOPMENT', project_id: own?.id }}
          verb="Clone"
          onSubmit={clone}
          onClose={() => ask(false)}
        />
      )}
    </Box>
  );
}

function DeleteEnvironment({ environmentId, name, refusal }: PartProps): ReactNode {
  const [isAsked, ask] = useState(false);
  const services = useQuery(servicesIn(environmentId)).data;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const action = useMutation({
    mutationFn: () => send('deleteEnvironment', { environmentId }),
    onSuccess: async () => {
      await navigate({ to: '/', ignoreBlocker: true });
      for (const key of ['environments', 'overview']) void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  return (
    <Box title="Delete">
      <div className="setting">
        <p className="text-muted">
          The environment is deleted with its services, their volumes and databases, and their addresses.
        </p>
        <div>
          <Button refusal={refusal} onClick={() => ask(true)}>
            Delete {name}
          </Button>
          <ErrorNote error={action.error} />
        </div>
      </div>
      {isAsked && (
        <TypedConfirm
          title={`Delete ${name}?`}
          name={name}
          verb={lossOf(services).verb}
          onConfirm={() => action.mutate()}
          onClose={() => ask(false)}
        >
          <p>{lossOf(services).words} This cannot be undone.</p>
        </TypedConfirm>
      )}
    </Box>
  );
}
