import { useParams } from '@tanstack/react-router';
import { memo, type ReactNode } from 'react';
import { useServicesByStage, type ServiceRow, type StageRows } from '../data/service-rows.ts';
import { FailedFace, LoadingRows } from '../parts/face.tsx';
import { useGrowing } from '../parts/growing.ts';
import { Icon } from '../parts/icon.tsx';
import { Ago, Cut } from '../parts/page.tsx';
import { PlainLink } from '../parts/plain-link.tsx';
import { ServiceStates } from '../parts/state.tsx';
import { shortInstancesOf } from '../quantity.ts';
import { NoServices } from './no-services.tsx';

/** The services of an environment, by stage. */
export function ServicesOfEnvironment(): ReactNode {
  const { environmentId = '' } = useParams({ strict: false });
  const { stages, error } = useServicesByStage(environmentId);
  const drawn = useGrowing(stages?.reduce((sum, { rows }) => sum + rows.length, 0) ?? 0);
  if (error !== null) return <FailedFace error={error} />;
  if (stages === undefined) {
    return (
      <div className="box">
        <LoadingRows rows={6} />
      </div>
    );
  }
  if (stages.length === 0) return <NoServices environmentId={environmentId} />;
  return (
    <div className="box">
      <table className="list">
        <thead>
          <tr>
            <th className="w-[24%] max-[1000px]:w-[30%]">Service</th>
            <th className="w-[20%] max-[1000px]:w-[24%]">State</th>
            <th className="w-[28%] max-[1000px]:w-[22%]">Address</th>
            <th className="w-[10%] max-[1000px]:w-[11%]">Instances</th>
            <th>Deployed</th>
          </tr>
        </thead>
        {firstOf(stages, drawn).map(({ name, rows }, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- the rows stay in the page when the name of their stage comes
          <tbody key={index}>
            <tr className="stage">
              <th colSpan={5} scope="rowgroup">
                <span className="n">{index + 1}</span>
                <bdi>{name}</bdi>
              </th>
            </tr>
            {rows.map((row) => (
              <Row key={row.id} {...row} />
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}

/** Returns the stages with this number of rows in all. */
function firstOf(stages: readonly StageRows[], count: number): StageRows[] {
  let left = count;
  return stages.flatMap((stage) => {
    const rows = stage.rows.slice(0, left);
    left -= rows.length;
    return rows.length === 0 ? [] : [{ ...stage, rows }];
  });
}

/** A row is drawn again only when something in it changed: there may be hundreds. */
const Row = memo(function Row(row: ServiceRow): ReactNode {
  const { name, type, kind, state, running, trouble, hint, url, urls, instances, wanted, deployedAt } = row;
  const address = `/environment/${row.environmentId}/service/${row.id}`;
  return (
    <>
      <tr className={trouble === null ? '' : 'has-why'}>
        <td>
          <div className="name">
            <Icon name={type} />
            <PlainLink to={address} className="min-w-0">
              <Cut text={name} />
            </PlainLink>
            {row.isOutOfDate && (
              <span className="chip change" title="What runs is not the present configuration">
                Out of date
              </span>
            )}
          </div>
          <div className="under pl-[23px]">{kind}</div>
        </td>
        <td>
          <ServiceStates status={{ state, running_status: running }} />
        </td>
        <td className="wide-only">
          {url === null ? (
            <span className="text-muted">–</span>
          ) : (
            <a className="link cut" href={url} target="_blank" rel="noreferrer">
              {url.replace(/^https?:\/\//, '')}
            </a>
          )}
          {urls > 1 && <div className="under">and {urls - 1} more</div>}
        </td>
        <td className="wide-only nowrap">
          {wanted === null ? <span className="text-muted">–</span> : shortInstancesOf(instances, wanted)}
        </td>
        <td className="wide-only nowrap">
          {deployedAt === null ? <span className="text-muted">Never</span> : <Ago at={deployedAt} />}
        </td>
      </tr>
      {trouble !== null && (
        <tr className="why">
          <td colSpan={5}>
            <div className={`why-line ${row.isWarning ? 'warn' : ''}`}>
              <b>{trouble}</b>
              <span title={hint}>{hint}</span>
              <PlainLink to={address}>Why, and what to do</PlainLink>
            </div>
          </td>
        </tr>
      )}
    </>
  );
});
