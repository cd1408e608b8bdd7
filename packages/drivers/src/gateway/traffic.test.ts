import { expect, test } from 'vitest';
import { countsOf, TrafficCounter, type WorkerCounters } from './traffic.ts';

const header = '# pxname,svname,stot,bin,bout,type,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,req_tot,';
const route = '5d3b6a1e-0c7e-4a8e-9b3f-8f6f3f4f5f6f';

function worker(pid: number, requests: number, tcp = 0): WorkerCounters {
  const lines = [
    header,
    `latency,BACKEND,0,0,0,1,0,0,0,0,0,0,`,
    `http_${route}_12345678,BACKEND,99,${requests * 10},${requests * 20},1,0,${requests},0,0,0,${requests},`,
    `tcp_5432_db,BACKEND,${tcp},7,8,1,,,,,,,`,
    '',
  ];
  const latency = `# table: latency, type: string\n0x1: key=http_${route}_12345678 use=0 exp=0 gpc0=${requests} gpc1=0 gpc11=0\n\n`;
  return { pid, backends: lines.join('\n'), latency };
}

test('counters of HAProxy are read by proxy, those of its own backends left out', () => {
  const counts = countsOf(worker(1, 3, 2));
  expect([...counts.keys()]).toEqual([`http_${route}_12345678`, 'tcp_5432_db']);
  expect(counts.get(`http_${route}_12345678`)).toEqual({
    requests: 3,
    responses: [0, 3, 0, 0, 0],
    receivedBytes: 30,
    sentBytes: 60,
    latency: [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  });
  expect(counts.get('tcp_5432_db')).toMatchObject({ requests: 2, responses: [0, 0, 0, 0, 0] });
});

test('what was counted before the first look is left out, and nothing after it, whatever workers come and go', () => {
  const counter = new TrafficCounter();
  const requests = (): number | undefined => counter.totals().find(({ id }) => id === route)?.requests;
  counter.add([worker(1, 100)]);
  expect(requests()).toBeUndefined();
  counter.add([worker(1, 105)]);
  expect(requests()).toBe(5);
  // A reload: the old worker ends its last requests while the new one runs.
  counter.add([worker(1, 107), worker(2, 4)]);
  expect(requests()).toBe(11);
  counter.add([]);
  counter.add([worker(2, 6)]);
  expect(requests()).toBe(13);
  // Another worker that got the process id of an earlier one.
  counter.add([worker(2, 1)]);
  expect(requests()).toBe(14);
});
