import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { clustersOf } from '../../data/organization.ts';
import { useRefusal } from '../../data/rights.ts';
import { send, textOf } from '../../data/send.ts';
import type { Entry } from '../../parts/entries.tsx';
import { filled } from '../../parts/values.ts';
import { EntryDialog } from '../../parts/entry-form.tsx';
import { Cut } from '../../parts/page.tsx';
import { Records } from '../../parts/records.tsx';
import { isFields, type Json } from '../../data/paths.ts';
import { capacityOf, ClusterState } from './cluster-facts.tsx';

export const clusterEntries: readonly Entry[] = [
  { path: 'name', label: 'Name', control: { kind: 'text' } },
  { path: 'description', label: 'Description', control: { kind: 'text' } },
  { path: 'region', label: 'Region', help: 'Where it is, in your own words: berlin, rack 4.', control: { kind: 'text' } },
  { path: 'production', label: 'For production', control: { kind: 'switch' } },
];

/** Where services run: the engine of this machine, and Kubernetes clusters. */
export function ClustersPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const params = { organizationId };
  const [isNew, begin] = useState(false);
  const refusal = useRefusal('createCluster', params);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const create = async (values: Json): Promise<void> => {
    const own = { cloud_provider: 'ON_PREMISE', kubernetes: 'SELF_MANAGED' };
    const body = filled({ ...own, ...(isFields(values) ? values : {}) });
    const clusterId = textOf(await send('createCluster', params, body), 'id');
    void queries.invalidateQueries({ queryKey: ['clusters', organizationId] });
    await navigate({ to: '/organization/$organizationId/clusters/$clusterId', params: { organizationId, clusterId } });
  };
  return (
    <>
      <Records
        title="Clusters"
        query={useQuery(clustersOf(organizationId))}
        add={{ words: 'Connect a cluster', refusal, onClick: () => begin(true) }}
        empty={{ title: 'No cluster', words: 'Connect a Kubernetes cluster: you need its kubeconfig.' }}
        columns={[
          {
            title: 'Cluster',
            cell: ({ id, name, region, is_default: isDefault }) => (
              <>
                <div className="name">
                  <Link
                    to="/organization/$organizationId/clusters/$clusterId"
                    params={{ organizationId, clusterId: id }}
                    className="min-w-0"
                  >
                    <Cut text={name} />
                  </Link>
                  {isDefault === true && <span className="chip">Default</span>}
                </div>
                <div className="under">
                  <Cut text={region} />
                </div>
              </>
            ),
          },
          { title: 'State', width: '20%', cell: ({ status }) => <ClusterState word={status} /> },
          { title: 'Capacity', width: '24%', isWideOnly: true, cell: capacityOf },
          { title: 'Version', width: '18%', isWideOnly: true, cell: ({ version = '' }) => <Cut text={version} /> },
        ]}
      />
      {isNew && (
        <EntryDialog
          title="Connect a cluster"
          about="First a record for it; then you store its kubeconfig, and Davit checks that it answers."
          entries={() => clusterEntries}
          initial={{ region: 'on-premise' }}
          verb="Go on"
          onSubmit={create}
          onClose={() => begin(false)}
        />
      )}
    </>
  );
}
