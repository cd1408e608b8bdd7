import { infiniteQueryOptions, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { Commands } from '../../parts/commands.tsx';
import { Graph } from '../../parts/graph.tsx';
import { DeploymentName, History } from '../../parts/history.tsx';
import { Icon } from '../../parts/icon.tsx';
import { LogLines } from '../../parts/log-lines.tsx';
import { Older } from '../../parts/older.tsx';
import { Ago, Box, Cut, CutAll } from '../../parts/page.tsx';
import { PlainLink } from '../../parts/plain-link.tsx';
import { Records } from '../../parts/records.tsx';
import { State, StateOf } from '../../parts/state.tsx';
import { at, broken, forbidden, graph, lines, long, records } from './sample.ts';

type Sample = (typeof records)[number];

/** A query that answers with these records, or fails with this error. */
const sampleOf = (name: string, answer: readonly Sample[] | Error) =>
  queryOptions({
    queryKey: ['sample', name],
    retry: false,
    queryFn: () => (answer instanceof Error ? Promise.reject(answer) : answer),
  });

/** A list that is read by pages, and has one more. */
const pagesOf = (name: string, answer: readonly Sample[] | Error) =>
  infiniteQueryOptions({
    queryKey: ['sample pages', name],
    retry: false,
    queryFn: (): readonly Sample[] | Promise<readonly Sample[]> => (answer instanceof Error ? Promise.reject(answer) : answer),
    initialPageParam: 1,
    getNextPageParam: (last: readonly Sample[]) => (last.length === 0 ? undefined : 2),
    select: ({ pages }) => pages.flat(),
  });

/** Tables, lists of records and of deployments with their faces, and a log. */
export function Lists(): ReactNode {
  const full = useQuery(sampleOf('full', records));
  const none = useQuery(sampleOf('none', []));
  const loading = useQuery({ ...sampleOf('loading', []), enabled: false });
  const refused = useQuery(sampleOf('refused', forbidden));
  const deployments = useInfiniteQuery(pagesOf('full', records));
  const never = useInfiniteQuery(pagesOf('none', []));
  const failed = useInfiniteQuery(pagesOf('failed', broken));
  return (
    <>
      <SampleTable />
      <RecordsOf title="Records" query={full} refusal={null} />
      <RecordsOf title="Records, none" query={none} refusal="This token may only read." />
      <RecordsOf title="Records, being read" query={loading} refusal={null} />
      <RecordsOf title="Records, not allowed" query={refused} refusal={null} />
      <Commands title="Commands" lines={['davit login https://davit.example.org', 'davit up']}>
        What the commands do, in one sentence.
      </Commands>
      <History history={deployments} advice="Deploy the service.">
        {(entries) => (
          <table className="list">
            <thead>
              <tr>
                <th className="w-1/2">Deployment</th>
                <th>State</th>
              </tr>
            </thead>
            <tbody>
              {entries.map(({ id }) => (
                <tr key={id}>
                  <DeploymentName environmentId="sample" executionId={`sample-${id}`} action="DEPLOY" by="Ada" />
                  <td>
                    <StateOf word="DEPLOYED" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </History>
      <History history={never} advice="Deploy the service: each deployment then stands here.">
        {() => null}
      </History>
      <History history={failed} advice="">
        {() => null}
      </History>
      <Box title="The end of a list">
        <Older what="deployments" hasOlder isReading error={broken} onRead={() => undefined} />
      </Box>
      <Box title="A graph" more={graph.edges.length}>
        <Graph label="Sample" stages={graph.stages} edges={graph.edges} onOpen={() => undefined} />
      </Box>
      <Box title="A log" more={lines.length}>
        <LogLines lines={lines} label="Sample" isShort doesWrap find="ms" />
      </Box>
      <div className="h-4" />
    </>
  );
}

interface RecordsOfProps {
  readonly title: string;
  readonly query: Parameters<typeof Records<Sample>>[0]['query'];
  readonly refusal: string | null;
}

function RecordsOf({ title, query, refusal }: RecordsOfProps): ReactNode {
  return (
    <Records
      title={title}
      query={query}
      add={{ words: 'New registry', refusal, onClick: () => undefined }}
      empty={{ title: 'No registry yet', words: 'What to do about it, in one sentence.' }}
      columns={[
        {
          title: 'Name',
          cell: ({ name }) => (
            <div className="name">
              <Cut text={name} />
            </div>
          ),
        },
        { title: 'Address', isWideOnly: true, cell: ({ address }) => <Cut text={address} /> },
      ]}
      actions={({ name }) => (
        <Button isSmall look="quiet">
          Edit<span className="sr-only"> {name.slice(0, 6)}</span>
        </Button>
      )}
    />
  );
}

function SampleTable(): ReactNode {
  return (
    <Box title="A table" more={<Ago at={at} />}>
      <table className="list">
        <thead>
          <tr>
            <th className="w-1/2">Service</th>
            <th>State</th>
          </tr>
        </thead>
        <tbody>
          <tr className="stage">
            <th colSpan={2} scope="rowgroup">
              <span className="n">1</span>Backend
            </th>
          </tr>
          <tr>
            <td>
              <div className="name">
                <Icon name="APPLICATION" />
                <PlainLink to="/parts" className="min-w-0">
                  <Cut text={long} />
                </PlainLink>
                <span className="chip change">Out of date</span>
              </div>
              <div className="under pl-[23px]">
                <CutAll texts={['Application', long]} />
              </div>
            </td>
            <td>
              <State shape="ok">Running</State>
              <div className="under pl-[19px]">Deployed</div>
            </td>
          </tr>
        </tbody>
      </table>
    </Box>
  );
}
