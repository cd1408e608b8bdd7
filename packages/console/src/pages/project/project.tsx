import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { use, useState, type ReactNode } from 'react';
import { clustersOf } from '../../data/organization.ts';
import { environmentsOf, projectOf } from '../../data/queries.ts';
import { useRefusal } from '../../data/rights.ts';
import { send, textOf } from '../../data/send.ts';
import { TreeContext } from '../../data/tree.ts';
import { Button } from '../../parts/button.tsx';
import { filled } from '../../parts/values.ts';
import { callOf } from '../../command-line.ts';
import { EntryDialog } from '../../parts/entry-form.tsx';
import { ErrorNote, FailedFace } from '../../parts/face.tsx';
import { Box, Cut, Head } from '../../parts/page.tsx';
import { RecordForm } from '../../parts/record-form.tsx';
import { Records } from '../../parts/records.tsx';
import { StateOf } from '../../parts/state.tsx';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import { plural, sentence } from '../../words.ts';
import type { Json } from '../../data/paths.ts';
import { environmentEntries, projectEntries } from './entries.ts';

/** A project: its environments, its name, and its end. */
export function ProjectPage(): ReactNode {
  const { projectId = '' } = useParams({ strict: false });
  const project = useQuery(projectOf(projectId));
  const refusal = useRefusal('editProject', { projectId });
  const queries = useQueryClient();
  if (project.data === undefined && project.error !== null) return <FailedFace error={project.error} isPage />;
  const { name = ' ', description = '', associated_environments_count: count, updated_at } = project.data ?? {};
  const edit = (values: Json, version: string | undefined): Promise<unknown> =>
    send('editProject', { projectId }, values, version).finally(() => {
      for (const key of ['project', 'projects', 'overview']) void queries.invalidateQueries({ queryKey: [key] });
    });
  return (
    <>
      <Head
        title={name}
        facts={
          <>
            <span>Project{count !== undefined && ` with ${plural(count, 'environment')}`}</span>
            {description !== '' && <Cut text={description} />}
          </>
        }
      />
      <Environments projectId={projectId} organizationId={project.data?.organization.id ?? ''} />
      {project.data !== undefined && (
        <>
          <div className="box form-box">
            <RecordForm
              key={projectId}
              entries={projectEntries}
              stored={{ version: updated_at, values: { name, description } }}
              refusal={refusal}
              onSave={edit}
              guide={(values) => ({
                steps: {
                  title: 'What a change does',
                  lines: [
                    'Nothing is deployed or restarted.',
                    'A webhook that is limited to the old name no longer matches.',
                    'Commands and git remotes that have the old name stop working: davit up --environment PROJECT/ENVIRONMENT.',
                  ],
                },
                command: callOf('editProject', { projectId }, values),
              })}
            />
          </div>
          <DeleteProject projectId={projectId} name={name} count={count ?? 0} refusal={refusal} />
        </>
      )}
    </>
  );
}

function Environments({ projectId, organizationId }: { readonly projectId: string; readonly organizationId: string }): ReactNode {
  const [isNew, begin] = useState(false);
  const environments = useQuery(environmentsOf(projectId));
  const clusters = useQuery({ ...clustersOf(organizationId), enabled: organizationId !== '' }).data ?? [];
  const refusal = useRefusal('createEnvironment', { projectId });
  const { projects } = use(TreeContext);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const nodes = new Map(projects.flatMap((one) => one.environments).map((one) => [one.id, one]));
  const create = async (values: Json): Promise<void> => {
    const environmentId = textOf(await send('createEnvironment', { projectId }, filled(values)), 'id');
    void queries.invalidateQueries({ queryKey: ['environments', projectId] });
    void queries.invalidateQueries({ queryKey: ['overview'] });
    void queries.invalidateQueries({ queryKey: ['project', projectId] });
    await navigate({ to: '/environment/$environmentId', params: { environmentId } });
  };
  return (
    <>
      <Records
        title="Environments"
        query={environments}
        add={{ words: 'New environment', refusal, onClick: () => begin(true) }}
        empty={{ title: 'No environment yet', words: 'Services are in environments: create one, as production.' }}
        columns={[
          {
            title: 'Environment',
            cell: ({ id, name, mode }) => (
              <>
                <div className="name">
                  <Link to="/environment/$environmentId" params={{ environmentId: id }} className="min-w-0">
                    <Cut text={name} />
                  </Link>
                </div>
                <div className="under">{sentence(mode)}</div>
              </>
            ),
          },
          {
            title: 'State',
            cell: ({ id }) => {
              const state = nodes.get(id)?.state;
              return state === undefined ? <span className="bone w-24" /> : <StateOf word={state} />;
            },
          },
          { title: 'Cluster', isWideOnly: true, cell: ({ cluster_name: cluster }) => <Cut text={cluster ?? ''} /> },
        ]}
      />
      {isNew && (
        <EntryDialog
          title="New environment"
          entries={() => environmentEntries(clusters)}
          initial={{ mode: 'DEVELOPMENT', cluster_id: (clusters.find((one) => one.is_default === true) ?? clusters[0])?.id }}
          verb="Create environment"
          onSubmit={create}
          onClose={() => begin(false)}
        />
      )}
    </>
  );
}

interface DeleteProjectProps {
  readonly projectId: string;
  readonly name: string;
  readonly count: number;
  readonly refusal: string | null;
}

function DeleteProject({ projectId, name, count, refusal }: DeleteProjectProps): ReactNode {
  const [isAsked, ask] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const action = useMutation({
    mutationFn: () => send('deleteProject', { projectId }),
    onSuccess: async () => {
      await navigate({ to: '/', ignoreBlocker: true });
      void queries.invalidateQueries({ queryKey: ['projects'] });
    },
  });
  const inUse = count === 0 ? null : `Delete its ${plural(count, 'environment')} first.`;
  return (
    <Box title="Delete">
      <div className="setting">
        <p className="text-muted">Only a project without environments can be deleted. Its variables and rules go with it.</p>
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
          <p>Its variables, secrets and deployment rules are lost. This cannot be undone.</p>
        </TypedConfirm>
      )}
    </Box>
  );
}
