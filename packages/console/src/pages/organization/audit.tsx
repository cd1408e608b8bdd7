import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { auditOf, type AuditFilter } from '../../data/organization-audit.ts';
import type { AuditEvent } from '../../data/audit.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Ago, Cut } from '../../parts/page.tsx';
import { fullTime } from '../../time.ts';
import { sentence } from '../../words.ts';
import { differences } from './differences.ts';

const types = ['CREATE', 'UPDATE', 'DELETE', 'CLONE', 'ACCEPT', 'TRIGGER_DEPLOY', 'TRIGGER_STOP', 'DEPLOYED', 'DEPLOY_FAILED'];
const targets = [
  'ORGANIZATION',
  'PROJECT',
  'ENVIRONMENT',
  'APPLICATION',
  'CONTAINER',
  'DATABASE',
  'JOB',
  'HELM',
  'TERRAFORM',
  'CLUSTER',
];
const origins = ['API', 'CLI', 'CONSOLE', 'GIT', 'TERRAFORM_PROVIDER', 'SERVICE_INTERNAL'];

/** Who changed what, when and from where. The filters and the page are in the address. */
export function AuditPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const filter: AuditFilter = useSearch({ strict: false });
  const [shown, show] = useState<AuditEvent | null>(null);
  const page = useQuery(auditOf(organizationId, filter));
  return (
    <>
      <Filters filter={filter} />
      <section className="box" aria-label="Audit log">
        {page.data === undefined && page.error === null && <LoadingRows rows={6} />}
        {page.data === undefined && page.error !== null && <FailedFace error={page.error} onRetry={() => void page.refetch()} />}
        {page.data?.events.length === 0 && (
          <Face icon="search" title="Nothing is recorded here">
            No change has these properties, or it is older than the log keeps.
          </Face>
        )}
        {page.data !== undefined && page.data.events.length > 0 && <Events events={page.data.events} onShow={show} />}
      </section>
      {page.data !== undefined && <Pages filter={filter} next={page.data.next} previous={page.data.previous} />}
      {page.data?.isLimited === true && <p className="under mt-2">Older entries are no longer kept.</p>}
      {shown !== null && <EventDialog event={shown} onClose={() => show(null)} />}
    </>
  );
}

function Filters({ filter }: { readonly filter: AuditFilter }): ReactNode {
  const navigate = useNavigate();
  // A page belongs to its filter: another filter begins with the newest entries.
  const set = (name: keyof AuditFilter, value: string): void => {
    const { next: _next, back: _back, ...rest } = filter;
    const search = { ...rest, [name]: value === '' ? undefined : value };
    void navigate({ to: '.', search, replace: true });
  };
  const select = (name: 'type' | 'target' | 'origin', label: string, options: readonly string[]): ReactNode => (
    <label className="filter">
      {label}
      <select className="input" value={filter[name] ?? ''} onChange={({ target }) => set(name, target.value)}>
        <option value="">All</option>
        {options.map((one) => (
          <option key={one} value={one}>
            {sentence(one)}
          </option>
        ))}
      </select>
    </label>
  );
  const date = (name: 'from' | 'to', label: string): ReactNode => (
    <label className="filter">
      {label}
      <input className="input" type="date" value={filter[name] ?? ''} onChange={({ target }) => set(name, target.value)} />
    </label>
  );
  return (
    <div className="toolbar filters" role="search" aria-label="Filter the audit log">
      {select('type', 'What', types)}
      {select('target', 'On', targets)}
      {select('origin', 'By way of', origins)}
      <label className="filter">
        Who
        <input
          className="input"
          placeholder="Name"
          defaultValue={filter.who ?? ''}
          onChange={({ target }) => set('who', target.value)}
        />
      </label>
      {date('from', 'From')}
      {date('to', 'To')}
    </div>
  );
}

interface EventsProps {
  readonly events: readonly AuditEvent[];
  readonly onShow: (event: AuditEvent) => void;
}

function Events({ events, onShow }: EventsProps): ReactNode {
  return (
    <table className="list records">
      <thead>
        <tr>
          <th className="w-[34%]">What</th>
          <th className="w-[26%]">Who</th>
          <th className="w-[18%]">When</th>
          <th>
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <tr key={event.id}>
            <td>
              <div className="name">
                <Cut text={`${sentence(event.event_type)} ${event.target_name}`} />
              </div>
              <div className="under">
                <Cut text={locationOf(event)} />
              </div>
            </td>
            <td className="wide-only">
              <Cut text={event.triggered_by} />
              <div className="under">
                <Cut text={`${sentence(event.origin)}${event.address === null ? '' : ` · ${event.address}`}`} />
              </div>
            </td>
            <td>
              <Ago at={event.timestamp} />
            </td>
            <td className="do">
              <div className="row-do">
                <Button isSmall look="quiet" onClick={() => onShow(event)}>
                  Details<span className="sr-only">{` of ${event.event_type} ${event.target_name}`}</span>
                </Button>
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function locationOf({
  target_type: type,
  sub_target_type: sub,
  project_name: project,
  environment_name: environment,
}: AuditEvent): string {
  const what = sub === null ? sentence(type) : `${sentence(sub)} of ${sentence(type).toLowerCase()}`;
  return [what, ...[project, environment].filter((one) => one !== '')].join(' · ');
}

interface PagesProps {
  readonly filter: AuditFilter;
  readonly next: string | null;
  readonly previous: string | null;
}

function Pages({ filter, next, previous }: PagesProps): ReactNode {
  const navigate = useNavigate();
  const { next: _next, back: _back, ...rest } = filter;
  const go = (search: AuditFilter): void => void navigate({ to: '.', search });
  if (next === null && previous === null) return null;
  return (
    <nav className="pages" aria-label="Pages of the audit log">
      <Button
        isSmall
        refusal={previous === null ? 'These are the newest entries.' : null}
        onClick={() => go({ ...rest, ...(previous !== null && { back: previous }) })}
      >
        Newer
      </Button>
      <Button
        isSmall
        refusal={next === null ? 'These are the oldest entries.' : null}
        onClick={() => go({ ...rest, ...(next !== null && { next }) })}
      >
        Older
      </Button>
    </nav>
  );
}

function EventDialog({ event, onClose }: { readonly event: AuditEvent; readonly onClose: () => void }): ReactNode {
  const changes = differences(event.original_change, event.change);
  const title = `${sentence(event.event_type)} ${event.target_name}`;
  return (
    <Dialog label={title} className="wide" onClose={onClose}>
      <div className="in">
        <h2>{title}</h2>
        <dl className="definitions plain">
          <dt>When</dt>
          <dd>{fullTime(event.timestamp)}</dd>
          <dt>Who</dt>
          <dd>
            <bdi>{event.triggered_by}</bdi>
          </dd>
          <dt>By way of</dt>
          <dd>
            {sentence(event.origin)}
            {event.user_agent !== null && <bdi className="under block">{event.user_agent}</bdi>}
          </dd>
          {event.address !== null && (
            <>
              <dt>From</dt>
              <dd>{event.address}</dd>
            </>
          )}
          <dt>Operation</dt>
          <dd>
            <code>{event.operation ?? 'Davit itself'}</code>
          </dd>
        </dl>
        {changes.length > 0 && (
          <>
            <h3>What changed</h3>
            {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard */}
            <div className="diff" tabIndex={0}>
              {changes.map(({ path, before, after }) => (
                <div key={path}>
                  <b>
                    <bdi>{path}</bdi>
                  </b>
                  {before !== null && (
                    <div className="minus">
                      − <bdi>{before}</bdi>
                    </div>
                  )}
                  {after !== null && (
                    <div className="plus">
                      + <bdi>{after}</bdi>
                    </div>
                  )}
                </div>
              ))}
            </div>
          </>
        )}
        <div className="do">
          <Button onClick={onClose}>Close</Button>
        </div>
      </div>
    </Dialog>
  );
}
