import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { deleteDomain, domainsOf, type Domain } from '../../data/domains.ts';
import { environmentOf } from '../../data/queries.ts';
import { editRefusalIn } from '../../data/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Copyable } from '../../parts/copy.tsx';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Box } from '../../parts/page.tsx';
import { State } from '../../parts/state.tsx';
import { fullTime } from '../../time.ts';
import type { Service } from '../../words.ts';
import { useService } from '../service.tsx';
import { DomainForm } from './form.tsx';
import { certificateWords, dnsWords, ownershipWords, recordsOf } from './words.ts';

/** The custom domains of a service: where DNS leads, whose they are, and their certificates. */
export function DomainsPage(): ReactNode {
  const { service } = useService();
  if (service === undefined) {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  return <Domains service={service} />;
}

function Domains({ service }: { readonly service: Service }): ReactNode {
  const domains = useQuery(domainsOf(service));
  const mayNot = useQuery(editRefusalIn(service.environment.id)).data ?? null;
  const [isAdding, add] = useState(false);
  if (domains.data === undefined && domains.error !== null) {
    return <FailedFace error={domains.error} onRetry={() => void domains.refetch()} />;
  }
  return (
    <>
      <div className="toolbar">
        <span className="text-muted flex-1 basis-64">
          A domain answers from the next deployment on. Its certificate is issued as soon as DNS leads here.
        </span>
        <Button refusal={domains.isFetching ? 'DNS is being asked.' : null} onClick={() => void domains.refetch()}>
          Check now
        </Button>
        <Button look="plain" refusal={mayNot} onClick={() => add(true)}>
          Add a domain
        </Button>
      </div>
      {domains.data === undefined && (
        <div className="box">
          <LoadingRows rows={3} />
        </div>
      )}
      {domains.data?.length === 0 && (
        <div className="box">
          <Face icon="home" title="No custom domain yet">
            The service has addresses of its own. A custom domain is a name of yours that leads to it.
          </Face>
        </div>
      )}
      {domains.data?.map((domain) => (
        <DomainBox key={domain.id} service={service} domain={domain} refusal={mayNot} />
      ))}
      {isAdding && <DomainForm service={service} domain={null} onClose={() => add(false)} />}
    </>
  );
}

interface DomainBoxProps {
  readonly service: Service;
  readonly domain: Domain;
  readonly refusal: string | null;
}

function DomainBox({ service, domain, refusal }: DomainBoxProps): ReactNode {
  const [asked, ask] = useState<'edit' | 'delete' | null>(null);
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteDomain(service, domain.id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['domains', service.environment.id] }),
  });
  return (
    <Box
      title={domain.domain}
      more={
        <span className="inline-flex gap-1">
          <Button look="quiet" isSmall refusal={refusal} onClick={() => ask('edit')}>
            Edit<span className="sr-only"> {domain.domain}</span>
          </Button>
          <Button look="quiet" isSmall refusal={refusal} onClick={() => ask('delete')}>
            Remove<span className="sr-only"> {domain.domain}</span>
          </Button>
        </span>
      }
    >
      <Facts domain={domain} />
      <Records service={service} domain={domain} />
      <ErrorNote error={remove.error} />
      {asked === 'edit' && <DomainForm service={service} domain={domain} onClose={() => ask(null)} />}
      {asked === 'delete' && (
        <Confirm
          title={`Remove ${domain.domain}?`}
          verb="Remove"
          isDangerous
          onConfirm={() => remove.mutate()}
          onClose={() => ask(null)}
        >
          <p>The service answers there until its next deployment. After that, other services may use the name.</p>
        </Confirm>
      )}
    </Box>
  );
}

function Facts({ domain }: { readonly domain: Domain }): ReactNode {
  const { certificate_valid_until: until, certificate_next_attempt: next } = domain;
  const rows = [
    [dnsWords[domain.dns_status], domain.dns_details],
    [ownershipWords[domain.ownership_status], domain.ownership_details],
    [certificateWords[domain.certificate_status], domain.certificate_details],
  ] as const;
  return (
    <dl className="definitions checks">
      {rows.map(([[shape, words], details]) => (
        <div key={words} className="contents">
          <dt>
            <State shape={shape}>{words}</State>
          </dt>
          <dd>
            <bdi>{details}</bdi>
            {words === certificateWords[domain.certificate_status][1] && (
              <>
                {until !== null && ` Valid until ${fullTime(until)}.`}
                {next !== null && ` Next attempt at ${fullTime(next)}.`}
              </>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The records to set in DNS. They stay on the page when all is well: an owner who moves the name needs them again. */
function Records({ service, domain }: { readonly service: Service; readonly domain: Domain }): ReactNode {
  const organizationId = useQuery(environmentOf(service.environment.id)).data?.organization.id ?? '';
  const records = recordsOf(domain, organizationId);
  if (records.length === 0) return null;
  const isSet = dnsWords[domain.dns_status][0] === 'ok' && domain.ownership_status === 'PROVEN';
  return (
    <details className="dns" open={!isSet}>
      <summary>{isSet ? 'Records in DNS' : 'Set in DNS, at your provider'}</summary>
      <table className="list">
        <thead>
          <tr>
            <th className="w-[80px]">Type</th>
            <th>Name</th>
            <th>Value</th>
          </tr>
        </thead>
        <tbody>
          {records.map(({ type, name, value }) => (
            <tr key={type}>
              <td>{type}</td>
              <td className="broad-cell">
                <Copyable text={name} what={`name of the ${type} record`} />
              </td>
              <td className="broad-cell">
                <Copyable text={value} what={`value of the ${type} record`} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
