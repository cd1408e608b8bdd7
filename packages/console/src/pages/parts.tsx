import { useState, type ReactNode } from 'react';
import { ApiError } from '@davit/client';
import { Button } from '../parts/button.tsx';
import { Conflict } from '../parts/conflict.tsx';
import { Copyable } from '../parts/copy.tsx';
import { FormField } from '../parts/form-field.tsx';
import { Saver } from '../parts/saver.tsx';
import { Segments } from '../parts/segments.tsx';
import { TextInput } from '../parts/text-input.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../parts/face.tsx';
import { Icon, iconNames } from '../parts/icon.tsx';
import { LogLines } from '../parts/log-lines.tsx';
import { Ago, Box, Cut, Head } from '../parts/page.tsx';
import { State, StateOf } from '../parts/state.tsx';
import { Verdict } from '../parts/verdict.tsx';
import { runningWords, stateWords } from '../words.ts';

const failure = {
  code: 'PORT_NOT_LISTENING',
  message: 'Nothing listens on port 8080.',
  hint: 'Make the process listen on 0.0.0.0, or correct internal_port.',
  link: '/docs/errors#port_not_listening',
  evidence: { lines: ['listening on 127.0.0.1:8080'], listening: ['127.0.0.1:8080'] },
};
const at = '2026-01-01T12:00:00.000Z';
const lines = [
  { id: '1', at, text: 'GET /orders 200 4 ms', level: 'info' as const, instance: 'api-1' },
  { id: '2', at, text: '\u001b[32mready\u001b[0m in \u001b[1m38 ms\u001b[0m', level: 'info' as const, instance: 'api-2' },
  { id: '3', at, text: 'warning: slow query, 1,204 ms', level: 'warn' as const, instance: 'api-1' },
  { id: '4', at, text: 'Error: timeout of 1000 ms exceeded', level: 'err' as const, instance: 'api-2' },
];
const tokens = ['bg', 'surface', 'sunken', 'line', 'text', 'muted', 'accent', 'ok', 'warn', 'bad'];

/** Every part of the console, once. docs/console.md has the rules. */
export function PartsPage(): ReactNode {
  const [isAsked, ask] = useState(false);
  return (
    <>
      <Head
        title="Parts"
        facts={<span>What every page of the console is made of</span>}
        actions={
          <>
            <Button>Plain</Button>
            <Button look="main">Main</Button>
          </>
        }
      />
      <Box title="States, as the API names them" more={stateWords.length + runningWords.length}>
        <div className="grid gap-x-6 gap-y-1 p-4 grid-cols-[repeat(auto-fill,minmax(180px,1fr))]">
          {[...stateWords, ...runningWords].map((word) => (
            <StateOf key={word} word={word} />
          ))}
        </div>
      </Box>
      <Box title="Buttons">
        <div className="flex flex-wrap gap-2 p-4">
          <Button>Plain</Button>
          <Button look="main">Main, one on a page</Button>
          <Button look="danger" onClick={() => ask(true)}>
            Loses something
          </Button>
          <Button look="quiet">Quiet</Button>
          <Button isSmall icon="back">
            Small
          </Button>
          <Button isPressed>Pressed</Button>
          <Button refusal="This token may only read.">May not be used</Button>
        </div>
      </Box>
      <Drawings />
      <Box title="A field">
        <div className="p-4">
          <div className="field">
            <Icon name="search" />
            <input aria-label="Search" placeholder="Search" />
            <span className="hint">38 of 12,406 lines</span>
          </div>
        </div>
      </Box>
      <SampleTable />
      <Editors />
      <Failures />
      {isAsked && (
        <Confirm title="Stop api?" verb="Stop" isDangerous onConfirm={() => undefined} onClose={() => ask(false)}>
          <p>It no longer answers until it is deployed again.</p>
        </Confirm>
      )}
    </>
  );
}

function Drawings(): ReactNode {
  return (
    <>
      <Box title="Colours">
        <div className="flex flex-wrap gap-4 p-4">
          {tokens.map((token) => (
            <span key={token} className="flex items-center gap-2">
              <span className="size-6 rounded border border-(--line-strong)" style={{ background: `var(--${token})` }} />
              <code>{token}</code>
            </span>
          ))}
        </div>
      </Box>
      <Box title="Drawings">
        <div className="flex flex-wrap gap-4 p-4">
          {iconNames.map((name) => (
            <span key={name} className="flex items-center gap-2 text-muted">
              <Icon name={name} />
              <code>{name}</code>
            </span>
          ))}
        </div>
      </Box>
    </>
  );
}

function Editors(): ReactNode {
  const [order, setOrder] = useState<'process' | 'scope'>('process');
  const [value, setValue] = useState('0.0.0.0');
  return (
    <Box title="Editors">
      <div className="form p-4">
        <Segments
          label="Order"
          options={[
            ['process', 'What the process gets'],
            ['scope', 'By scope'],
          ]}
          value={order}
          onChange={setOrder}
        />
        <FormField label="Address" help="Where it listens." error="must be an address of this machine">
          {(control) => <TextInput {...control} value={value} onText={setValue} />}
        </FormField>
        <Conflict did="set it to" value="localhost" onKeep={() => undefined} onTake={() => undefined} />
        <Copyable text="shop.example.org" what="name" />
        <div className="diff">
          <div className="minus">− HOST=localhost</div>
          <div className="plus">+ HOST=0.0.0.0</div>
        </div>
        <Saver
          title="1 change."
          about="Nothing is saved yet."
          verb="Review 1 change"
          refusal={null}
          onSave={() => undefined}
          onDiscard={() => setValue('')}
        />
      </div>
    </Box>
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
                <Cut text={'A name that is far too long for its place, '.repeat(6)} />
                <span className="chip change">Out of date</span>
              </div>
              <div className="under pl-[23px]">Application</div>
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

function Failures(): ReactNode {
  return (
    <>
      <Box title="A log" more={lines.length}>
        <LogLines lines={lines} label="Sample" isShort doesWrap find="ms" />
      </Box>
      <div className="h-4" />
      <Verdict
        failure={failure}
        changed="version  9d02e11   unchanged"
        now="3 of 3 instances are running: requests are still answered."
      />
      <Verdict
        failure={{ ...failure, message: 'Memory: 480 of 512 MiB.', code: 'MEMORY', evidence: {} }}
        isWarning
        now="Seen 3 times."
      />
      <ErrorNote error={new ApiError({ status: 409, code: 'CONFLICT', message: 'The environment is being deleted.' })} />
      <Box title="Faces">
        <LoadingRows rows={2} />
        <Face icon="empty" title="No services yet">
          What to do about it, in one sentence.
        </Face>
        <FailedFace
          error={new ApiError({ status: 403, code: 'FORBIDDEN', message: 'The token has the scope READ; this needs DEPLOY.' })}
        />
        <FailedFace error={new TypeError('no answer')} onRetry={() => undefined} />
      </Box>
    </>
  );
}
