import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { api } from '../../api.ts';
import { clusterLogOf, clustersOf, environmentsOn } from '../../data/organization.ts';
import { useRefusal } from '../../data/rights.ts';
import { send } from '../../data/send.ts';
import { Button } from '../../parts/button.tsx';
import { EntryDialog, EntryForm } from '../../parts/entry-form.tsx';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Ago, Box, Cut, CutAll } from '../../parts/page.tsx';
import { Records } from '../../parts/records.tsx';
import { State } from '../../parts/state.tsx';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import { plural, sentence } from '../../words.ts';
import { isFields, valueAt } from '../../data/paths.ts';
import { capacityOf, ClusterState, type Cluster } from './cluster-facts.tsx';
import { clusterEntries } from './clusters.tsx';

/** A cluster: its state and capacity, what is on it, its log, and how it is connected. */
export function ClusterPage(): ReactNode {
  const { organizationId = '', clusterId = '' } = useParams({ strict: false });
  const clusters = useQuery(clustersOf(organizationId));
  const cluster = clusters.data?.find(({ id }) => id === clusterId);
  const environments = useQuery(environmentsOn(clusterId));
  if (clusters.data === undefined) {
    if (clusters.error !== null) return <FailedFace error={clusters.error} />;
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  if (cluster === undefined) {
    return (
      <div className="box">
        <Face icon="empty" title="Not found">
          The organization has no such cluster. It may have been deleted.
        </Face>
      </div>
    );
  }
  return (
    <>
      <Facts organizationId={organizationId} cluster={cluster} count={environments.data?.length ?? null} />
      {cluster.kubernetes === 'SELF_MANAGED' && <Connection organizationId={organizationId} cluster={cluster} />}
      <Records
        title="Environments"
        query={environments}
        empty={{ title: 'Nothing is on it', words: 'Choose the cluster when you create an environment.' }}
        columns={[
          {
            title: 'Environment',
            cell: ({ environment_id: environmentId, environment_name: name, project_name: project }) => (
              <div className="name">
                <Link to="/environment/$environmentId" params={{ environmentId }} className="min-w-0">
                  <CutAll texts={[project, name]} between=" / " />
                </Link>
              </div>
            ),
          },
          { title: 'Services', width: '30%', cell: ({ services }) => plural(services.length, 'service') },
        ]}
      />
      <Log organizationId={organizationId} clusterId={clusterId} />
    </>
  );
}

interface PartProps {
  readonly organizationId: string;
  readonly cluster: Cluster;
}

function Facts({ organizationId, cluster, count }: PartProps & { readonly count: number | null }): ReactNode {
  const [asked, ask] = useState<'edit' | 'delete' | null>(null);
  const params = { organizationId, clusterId: cluster.id };
  // A custom role may administer this cluster, though it never creates one.
  const refusal = useRefusal('editCluster', params);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const read = (): Promise<void> => queries.invalidateQueries({ queryKey: ['clusters', organizationId] });
  const removal = useMutation({
    mutationFn: () => send('deleteCluster', params),
    onSuccess: async () => {
      await navigate({ to: '/organization/$organizationId/clusters', params: { organizationId }, ignoreBlocker: true });
      await read();
    },
  });
  const { name, description = '', region, cloud_provider, production, is_default: isDefault, updated_at } = cluster;
  const inUse =
    count === null ? 'Its environments are not known yet.' : count > 0 ? `It has ${plural(count, 'environment')}.` : null;
  return (
    <Box
      title={name}
      more={
        <span className="row-do">
          <Button isSmall refusal={refusal} onClick={() => ask('edit')}>
            Edit
          </Button>
          <Button
            isSmall
            refusal={refusal ?? (isDefault === true ? 'The default cluster stays.' : inUse)}
            onClick={() => ask('delete')}
          >
            Delete
          </Button>
        </span>
      }
    >
      <ClusterFacts cluster={cluster} />
      <ErrorNote error={removal.error} />
      {asked === 'edit' && (
        <EntryDialog
          title={`Edit ${name}`}
          entries={() => clusterEntries}
          initial={{ name, description, region, production: production ?? false }}
          verb="Save"
          onSubmit={(values) =>
            send('editCluster', params, { cloud_provider, ...(isFields(values) ? values : {}) }, updated_at).finally(
              () => void read(),
            )
          }
          onClose={() => ask(null)}
        />
      )}
      {asked === 'delete' && (
        <TypedConfirm
          title={`Delete ${name}?`}
          name={name}
          verb="Delete"
          onConfirm={() => removal.mutate()}
          onClose={() => ask(null)}
        >
          <p>Davit forgets the cluster and its kubeconfig. The cluster itself is not touched.</p>
        </TypedConfirm>
      )}
    </Box>
  );
}

function ClusterFacts({ cluster }: { readonly cluster: Cluster }): ReactNode {
  const { description = '', region, kubernetes, version } = cluster;
  return (
    <dl className="definitions">
      <dt>State</dt>
      <dd>
        <ClusterState word={cluster.status} />
      </dd>
      <dt>Capacity</dt>
      <dd>{capacityOf(cluster)}</dd>
      <dt>Version</dt>
      <dd>{version ?? '–'}</dd>
      <dt>Kind</dt>
      <dd>{kubernetes === undefined ? 'Container engine' : `Kubernetes, ${sentence(kubernetes).toLowerCase()}`}</dd>
      <dt>Region</dt>
      <dd>
        <bdi>{region}</bdi>
      </dd>
      {description !== '' && (
        <>
          <dt>Description</dt>
          <dd>
            <bdi>{description}</bdi>
          </dd>
        </>
      )}
    </dl>
  );
}

/** How a Kubernetes cluster is connected: its kubeconfig is stored, then Davit checks it. */
function Connection({ organizationId, cluster }: PartProps): ReactNode {
  const params = { organizationId, clusterId: cluster.id };
  // A custom role may administer this cluster, though it never creates one.
  const refusal = useRefusal('editCluster', params);
  const queries = useQueryClient();
  const read = (): void => {
    for (const key of ['clusters', 'clusterLog']) void queries.invalidateQueries({ queryKey: [key, organizationId] });
  };
  const check = useMutation({ mutationFn: () => send('deployCluster', params), onSettled: read });
  const isConnected = cluster.status === 'DEPLOYED';
  return (
    <Box title={isConnected ? 'Connection' : 'Connect it'}>
      <div className="form-box">
        <EntryForm
          entries={() => [
            {
              path: 'kubeconfig',
              label: isConnected ? 'Another kubeconfig' : 'Kubeconfig',
              help: 'The text of the file, with an account that may create namespaces. It is stored encrypted.',
              control: { kind: 'secret-code' },
            },
          ]}
          verb="Store and check"
          refusal={refusal}
          guide={() => ({
            steps: {
              title: 'What happens next',
              lines: [
                'The kubeconfig is stored encrypted, in the place of the former one.',
                'Davit checks that the cluster answers, and grants itself the permissions that it needs there.',
                'Nothing is installed or restarted. What was found stands in the log of this page.',
              ],
            },
          })}
          onSubmit={async (values) => {
            const kubeconfig = valueAt(values, 'kubeconfig');
            const body = typeof kubeconfig === 'string' ? kubeconfig : '';
            try {
              await api().call('editClusterKubeconfig', { params, body });
              await api().call('deployCluster', { params });
            } finally {
              read();
            }
          }}
        />
        {cluster.status !== 'READY' && (
          <p className="mt-3">
            <Button refusal={refusal ?? (check.isPending ? 'The cluster is asked.' : null)} onClick={() => check.mutate()}>
              Check it again
            </Button>
          </p>
        )}
        <ErrorNote error={check.error} />
      </div>
    </Box>
  );
}

function Log({ organizationId, clusterId }: { readonly organizationId: string; readonly clusterId: string }): ReactNode {
  const log = useQuery(clusterLogOf(organizationId, clusterId));
  return (
    <Box title="Log" more={log.data?.length}>
      {log.data === undefined && log.error === null && <LoadingRows rows={2} />}
      {log.data === undefined && log.error !== null && <FailedFace error={log.error} />}
      {log.data?.length === 0 && <div className="quiet-line">Davit has not checked this cluster yet.</div>}
      {log.data?.map(({ timestamp, step, message, error }) => (
        <div key={`${timestamp} ${step}`} className="item">
          <State shape={error === undefined ? 'ok' : 'bad'} />
          <b className="cut">
            <Cut text={error?.user_log_message ?? message?.safe_message ?? step} />
          </b>
          <span className="age">
            <Ago at={timestamp} />
          </span>
          {error !== undefined && <span className="under">{error.hint_message}</span>}
        </div>
      ))}
    </Box>
  );
}
