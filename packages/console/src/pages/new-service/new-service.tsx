import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { chartsOf, databasesIn, gitTokensOf, helmRepositoriesOf, registriesOf } from '../../data/organization.ts';
import { environmentOf, projectOf } from '../../data/queries.ts';
import { useRefusal } from '../../data/rights.ts';
import { send, textOf } from '../../data/send.ts';
import { filled } from '../../parts/values.ts';
import { EntryForm } from '../../parts/entry-form.tsx';
import { ErrorNote, FailedFace } from '../../parts/face.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Head } from '../../parts/page.tsx';
import { commandsOf } from '../../command-line.ts';
import { valueAt, type Json } from '../../data/paths.ts';
import { Commands } from '../../parts/commands.tsx';
import { SourceCheck } from './check.tsx';
import { sourceSection, type Offers } from './entries.ts';
import { bodyOf, newKinds, type NewKind } from './kinds.ts';
import { guideOf } from './outcome.ts';

/** Creates a service: its kind first, then what that kind needs. */
export function NewServicePage(): ReactNode {
  const { environmentId = '' } = useParams({ strict: false });
  const { kind: wanted } = useSearch({ strict: false });
  const environment = useQuery(environmentOf(environmentId));
  const kind = newKinds.find(({ type }) => type === wanted) ?? null;
  if (environment.data === undefined && environment.error !== null) return <FailedFace error={environment.error} isPage />;
  const organizationId = environment.data?.organization.id ?? '';
  return (
    <>
      <Head
        title={kind === null ? 'New service' : `New ${inSentence(kind)}`}
        facts={
          <span className="cut">
            in <bdi>{environment.data?.name ?? ''}</bdi>. Nothing runs before you deploy it.
          </span>
        }
      />
      <Kinds environmentId={environmentId} chosen={kind} />
      {kind === null && environment.data !== undefined && (
        <FromFolder name={environment.data.name} projectId={environment.data.project.id} />
      )}
      {kind !== null && <ServiceForm key={kind.type} kind={kind} environmentId={environmentId} organizationId={organizationId} />}
    </>
  );
}

/** Returns the name of a kind in the middle of a sentence: "application", "Helm chart". */
function inSentence({ title }: NewKind): string {
  return /^(Helm|Terraform)/.test(title) ? title : title.toLowerCase();
}

/** The commands that deploy a folder to the environment. They wait for the name of its project. */
function FromFolder({ name, projectId }: { readonly name: string; readonly projectId: string }): ReactNode {
  const project = useQuery(projectOf(projectId)).data;
  if (project === undefined) return null;
  return (
    <Commands title="From a folder on your machine" lines={commandsOf(location.origin, { project: project.name, name })}>
      The command line finds out what the folder has, writes a Dockerfile if there is none, and deploys it. It needs Node.js 22.7
      or newer.
    </Commands>
  );
}

function Kinds({ environmentId, chosen }: { readonly environmentId: string; readonly chosen: NewKind | null }): ReactNode {
  return (
    <nav className={`kinds ${chosen === null ? '' : 'small'}`} aria-label="Kinds of services">
      {newKinds.map(({ type, title, about }) => (
        <Link
          key={type}
          to="/environment/$environmentId/new"
          params={{ environmentId }}
          search={{ kind: type }}
          aria-current={chosen?.type === type ? 'page' : undefined}
          activeProps={{}}
        >
          <Icon name={type} />
          <span>
            <b>{title}</b>
            {chosen === null && <span className="under block">{about}</span>}
          </span>
        </Link>
      ))}
    </nav>
  );
}

interface ServiceFormProps {
  readonly kind: NewKind;
  readonly environmentId: string;
  readonly organizationId: string;
}

function ServiceForm({ kind, environmentId, organizationId }: ServiceFormProps): ReactNode {
  const refusal = useRefusal('createApplication', { environmentId });
  const [helmRepository, setHelmRepository] = useState('');
  const { error, ...offers } = useOffers(environmentId, organizationId, helmRepository);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const create = async (values: Json): Promise<void> => {
    const body = filled(bodyOf(kind, values));
    const serviceId = textOf(await send(kind.create, { environmentId }, body), 'id');
    for (const key of ['services', 'details']) void queries.invalidateQueries({ queryKey: [key, environmentId] });
    void queries.invalidateQueries({ queryKey: ['overview'] });
    await queries.refetchQueries({ queryKey: ['services', environmentId], type: 'all' });
    await navigate({ to: '/environment/$environmentId/service/$serviceId', params: { environmentId, serviceId } });
  };
  return (
    <div className="box form-box">
      <p className="text-muted">{kind.about}</p>
      <ErrorNote error={error} />
      <EntryForm
        entries={(values) => kind.entries(values, offers)}
        initial={kind.initial}
        onValues={(values) => {
          const chosen = valueAt(values, 'source.helm_repository.repository');
          setHelmRepository(typeof chosen === 'string' ? chosen : '');
        }}
        verb={`Create ${inSentence(kind)}`}
        refusal={refusal}
        onSubmit={create}
        guide={(values) => guideOf(kind, environmentId, values)}
        after={{
          [sourceSection]: (form) => <SourceCheck environmentId={environmentId} type={kind.type} form={form} refusal={refusal} />,
        }}
      />
    </div>
  );
}

/** Returns the choices that the organization and the environment offer, and why some of them could not be read. */
function useOffers(environmentId: string, organizationId: string, helmRepository: string): Offers & { error: Error | null } {
  const enabled = organizationId !== '';
  const gitTokens = useQuery({ ...gitTokensOf(organizationId), enabled });
  const registries = useQuery({ ...registriesOf(organizationId), enabled });
  const helmRepositories = useQuery({ ...helmRepositoriesOf(organizationId), enabled });
  const charts = useQuery(chartsOf(organizationId, helmRepository));
  const databases = useQuery(databasesIn(environmentId));
  const all = [gitTokens, registries, helmRepositories, charts, databases];
  const named = ({ id, name }: { readonly id: string; readonly name: string }) => [id, name] as const;
  return {
    error: all.find(({ data, error }) => data === undefined && error !== null)?.error ?? null,
    gitTokens: (gitTokens.data ?? []).map(named),
    registries: (registries.data ?? []).map(named),
    helmRepositories: (helmRepositories.data ?? []).map(named),
    charts: charts.data ?? [],
    databases: new Map(
      (databases.data ?? []).map(({ database_type: type, version }) => [
        type,
        [...new Set(version.map(({ name }) => name))].toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true })),
      ]),
    ),
  };
}
