import { ApiError } from '@davit/client';
import type { Entry } from '../../parts/entries.tsx';
import type { GraphEdge, GraphNode, GraphStage } from '../../parts/graph.tsx';
import type { States } from '../../words.ts';

/* Records that no server has, for the page of the parts. */

export const at = '2026-01-01T12:00:00.000Z';
export const long = 'A name that is far too long for its place, '.repeat(6);

export const failure = {
  code: 'PORT_NOT_LISTENING',
  message: 'Nothing listens on port 8080.',
  hint: 'Make the process listen on 0.0.0.0, or correct internal_port.',
  link: '/docs/errors#port_not_listening',
  evidence: { lines: ['listening on 127.0.0.1:8080'], listening: ['127.0.0.1:8080'] },
};

export const lines = [
  { id: '1', at, text: 'GET /orders 200 4 ms', level: 'info' as const, instance: 'api-1' },
  { id: '2', at, text: '\u001b[32mready\u001b[0m in \u001b[1m38 ms\u001b[0m', level: 'info' as const, instance: 'api-2' },
  { id: '3', at, text: 'warning: slow query, 1,204 ms', level: 'warn' as const, instance: 'api-1' },
  { id: '4', at, text: 'Error: timeout of 1000 ms exceeded', level: 'err' as const, instance: 'api-2' },
];

export const conflict = new ApiError({ status: 409, code: 'CONFLICT', message: 'The environment is being deleted.' });
export const forbidden = new ApiError({
  status: 403,
  code: 'FORBIDDEN',
  message: 'The token has the scope READ; this needs DEPLOY.',
});
export const missing = new ApiError({ status: 404, code: 'NOT_FOUND', message: 'There is no such service.' });
export const broken = new ApiError({ status: 500, code: 'INTERNAL', message: 'The database does not answer.' });
/** The server's words about two fields of the form below. */
export const invalid = new ApiError({
  status: 400,
  code: 'VALIDATION_FAILED',
  message: 'Some fields are wrong.',
  errors: [
    { path: 'name', message: 'must not be empty' },
    { path: 'ports.0', message: 'is used twice' },
    { path: 'cpu', message: 'must be at least 10' },
  ],
});

/** A field of each control. */
export const entries: readonly Entry[] = [
  { path: 'name', label: 'Text', help: 'What it is called.', control: { kind: 'text' } },
  { path: 'mail', label: 'E-mail address', control: { kind: 'email' } },
  { path: 'password', label: 'Secret', control: { kind: 'secret' } },
  { path: 'key', label: 'Secret of several lines', control: { kind: 'secret-code' } },
  { path: 'cpu', label: 'Number', control: { kind: 'number', unit: 'thousandths of a core' } },
  { path: 'day', label: 'Date', control: { kind: 'date' } },
  {
    path: 'mode',
    label: 'Choice of records',
    control: { kind: 'pick', none: 'None', options: [['1', 'The first']] },
    section: 'Choices',
  },
  { path: 'kind', label: 'Choice of words', control: { kind: 'choice', options: ['PUBLIC', 'PRIVATE'] }, section: 'Choices' },
  { path: 'preview', label: 'Switch', help: 'What it switches on.', control: { kind: 'switch' }, section: 'Choices' },
  { path: 'branch', label: 'With suggestions', control: { kind: 'text' }, suggestions: ['main'], section: 'Choices' },
  { path: 'arguments', label: 'Lines', control: { kind: 'lines' }, section: 'Lists' },
  { path: 'file', label: 'Code', control: { kind: 'code' }, section: 'Lists' },
  {
    path: 'ports',
    label: 'Rows',
    control: {
      kind: 'rows',
      add: 'Add a port',
      blank: { port: 8080, open: false },
      columns: [
        { name: 'port', label: 'Port', kind: 'number' },
        { name: 'open', label: 'Public', kind: 'check', width: '56px' },
      ],
    },
    section: 'Lists',
  },
  { path: 'probe', label: 'Probe', control: { kind: 'probe' }, section: 'Lists' },
];

export const values = {
  name: '',
  cpu: 5,
  kind: 'PRIVATE',
  preview: true,
  arguments: ['migrate', '--all'],
  ports: [{ port: 8080, open: true }],
  probe: { type: { http: { path: '/health', port: 8080 } } },
};

/** The words of a service that failed, one that is under way, one that needs a look, and one that is well. */
export const statuses: readonly States[] = [
  { state: 'DEPLOYMENT_ERROR', running_status: 'RUNNING' },
  { state: 'DEPLOYING', running_status: null },
  { state: 'DEPLOYED', running_status: 'WARNING' },
  { state: 'DEPLOYED', running_status: 'RUNNING' },
];

const node = (id: string, name: string, icon: GraphNode['icon'], status: States | undefined): GraphNode => ({
  id,
  name,
  icon,
  kind: 'Sample',
  status: status ?? { state: 'READY' },
  address: '/parts',
});
/** Stages with services in several states, which refer to each other. */
export const graph: { readonly stages: readonly GraphStage[]; readonly edges: readonly GraphEdge[] } = {
  stages: [
    {
      id: '1',
      name: 'Data',
      nodes: [node('orders', 'orders', 'DATABASE', statuses[3]), node('cache', long, 'DATABASE', statuses[2])],
    },
    { id: '2', name: long, nodes: [node('migrate', 'migrate', 'JOB', statuses[1])] },
    {
      id: '3',
      name: 'Backend',
      nodes: [node('api', 'api', 'APPLICATION', statuses[0]), node('worker', 'worker', 'APPLICATION', undefined)],
    },
  ],
  edges: [
    { from: 'migrate', to: 'orders' },
    { from: 'api', to: 'orders' },
    { from: 'api', to: 'cache' },
    { from: 'worker', to: 'api' },
  ],
};

export const records = [
  { id: '1', name: 'images', address: 'https://registry.example.org' },
  { id: '2', name: long, address: long },
];
