import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { hasMetrics, metricsOf } from '../../data/metrics.ts';
import { serviceHistoryOf } from '../../data/queries.ts';
import { Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Ago, Box } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { timeOfDay } from '../../time.ts';
import { deploymentNumber, shapeOf, type Service } from '../../words.ts';
import { useService } from '../service.tsx';
import { Chart, type Marker } from './chart.tsx';
import { charts, isMeasured, seriesOf, type Metrics } from './series.ts';

/** The resources that a service uses, on one axis of time with its deployments. */
export function MetricsPage(): ReactNode {
  const { service } = useService();
  if (service === undefined) {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  if (!hasMetrics(service)) {
    return (
      <div className="box">
        <Face icon="lines" title="Not measured here">
          The cluster measures what this service creates.
        </Face>
      </div>
    );
  }
  return <Measured service={service} />;
}

const ranges = [
  ['60', '1 hour'],
  ['360', '6 hours'],
  ['1440', '1 day'],
  ['10080', '7 days'],
  ['43200', '30 days'],
] as const;
type Range = (typeof ranges)[number][0];
const minute = 60_000;

function Measured({ service }: { readonly service: Service }): ReactNode {
  const { minutes = 60 } = useSearch({ strict: false });
  const navigate = useNavigate();
  const range: Range = ranges.find(([one]) => one === String(minutes))?.[0] ?? '60';
  const read = useQuery(metricsOf(service, minutes));
  const markers = useMarkers(service);
  const shown = useMemo(() => {
    if (read.data === undefined) return [];
    const { metrics, to } = read.data;
    const all = charts.map((chart) => ({ chart, series: seriesOf(chart, metrics, to - minutes * minute, to) }));
    return all.filter(({ series }) => isMeasured(series));
  }, [read.data, minutes]);
  const until = (read.data?.to ?? 0) / 1000;
  return (
    <>
      <div className="toolbar">
        <Segments<Range>
          label="Time"
          options={ranges}
          value={range}
          onChange={(chosen) => void navigate({ to: '.', search: { minutes: Number(chosen) }, replace: true })}
        />
        {read.data !== undefined && (
          <span className="text-muted" role="status">
            Measured once a minute, read at {timeOfDay(new Date(read.data.to).toISOString())}
            {read.isError && '; it could not be read again since'}
          </span>
        )}
        {markers.length > 0 && <span className="text-muted wide:ml-auto">A dashed line is a deployment</span>}
      </div>
      {read.data === undefined && read.error !== null && <FailedFace error={read.error} onRetry={() => void read.refetch()} />}
      {read.data === undefined && read.error === null && (
        <div className="box">
          <LoadingRows rows={6} />
        </div>
      )}
      {read.data !== undefined && shown.length === 0 && (
        <div className="box">
          <Face icon="lines" title="Nothing measured">
            No measurement is from this time. What the service uses stands here from the minute after its next start on.
          </Face>
        </div>
      )}
      <div className="charts">
        {shown.map(({ chart, series }) => (
          <Chart key={chart.title} chart={chart} series={series} until={until} markers={markers} />
        ))}
      </div>
      {read.data !== undefined && <Scaling scaling={read.data.metrics.scaling} />}
    </>
  );
}

function useMarkers(service: Service): readonly Marker[] {
  const history = useQuery(serviceHistoryOf(service)).data;
  return useMemo(
    () =>
      (history ?? []).map(({ auditing_data: { created_at: at }, identifier, status }): Marker => ({
        at: Date.parse(at) / 1000,
        label: `Deployment ${deploymentNumber(identifier.execution_id ?? '')}`,
        isFailed: shapeOf(status) === 'bad',
      })),
    [history],
  );
}

function Scaling({ scaling }: { readonly scaling: Metrics['scaling'] }): ReactNode {
  if (scaling.length === 0) return null;
  return (
    <Box title="Changes of the number of instances">
      {scaling.map(({ at, from, to, reason }) => (
        <div key={at} className="item">
          <span />
          <b>
            {from} → {to}
          </b>
          <span className="age">
            <Ago at={at} />
          </span>
          <span className="under">{reason}</span>
        </div>
      ))}
    </Box>
  );
}
