import type { ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { ButtonLink } from '../../parts/button-link.tsx';
import { Box, Head } from '../../parts/page.tsx';
import { Icon, iconNames } from '../../parts/icon.tsx';
import { ConnectionMark, LiveMark } from '../../parts/live-mark.tsx';
import { Mark, ServiceStates, State, StateOf, Strip } from '../../parts/state.tsx';
import { runningWords, stateWords, type Shape } from '../../words.ts';
import { Faces } from './faces.tsx';
import { Forms } from './forms.tsx';
import { Lists } from './lists.tsx';
import { Openings } from './openings.tsx';
import { statuses } from './sample.ts';

const tokens = ['bg', 'surface', 'sunken', 'line', 'text', 'muted', 'accent', 'ok', 'warn', 'bad'];
const shapes: readonly Shape[] = ['ok', 'go', 'wait', 'warn', 'bad', 'off'];

/** Every part of the console in all its states. docs/console.md has the rules. */
export function PartsPage(): ReactNode {
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
      <States />
      <Buttons />
      <Drawings />
      <Openings />
      <Forms />
      <Lists />
      <Faces />
    </>
  );
}

function States(): ReactNode {
  return (
    <>
      <Box title="States, as the API names them" more={stateWords.length + runningWords.length}>
        <div className="grid gap-x-6 gap-y-1 p-4 grid-cols-[repeat(auto-fill,minmax(180px,1fr))]">
          {[...stateWords, ...runningWords].map((word) => (
            <StateOf key={word} word={word} />
          ))}
        </div>
      </Box>
      <Box title="States of services, of an environment, and of the connection">
        <div className="flex flex-wrap gap-x-8 gap-y-3 p-4 items-start">
          {statuses.map((status) => (
            <div key={`${status.state} ${status.running_status}`}>
              <ServiceStates status={status} />
            </div>
          ))}
          <Strip services={statuses} />
          <Strip
            services={Array.from({ length: 44 }, (_, index) => statuses[index % statuses.length]).filter(
              (one) => one !== undefined,
            )}
          />
          <Strip services={[]} />
          <span className="flex gap-2">
            {shapes.map((shape) => (
              <span key={shape} className={`s-${shape} size-3`}>
                <Mark shape={shape} />
              </span>
            ))}
          </span>
          <State shape="ok">A word of the page</State>
          <span className="flex flex-wrap gap-x-8 gap-y-2">
            <LiveMark />
            <ConnectionMark connection={{ state: 'LIVE' }} />
            <ConnectionMark connection={{ state: 'CONNECTING' }} />
            <ConnectionMark connection={{ state: 'LOST', since: performance.timeOrigin }} />
          </span>
        </div>
      </Box>
    </>
  );
}

function Buttons(): ReactNode {
  return (
    <Box title="Buttons">
      <div className="flex flex-wrap gap-2 p-4">
        <Button>Plain</Button>
        <Button look="main">Main, one on a page</Button>
        <Button look="danger">Loses something</Button>
        <Button look="quiet">Quiet</Button>
        <Button isSmall icon="back">
          Small
        </Button>
        <Button isPressed>Pressed</Button>
        <ButtonLink to="/" refusal={null}>
          Leads to a page
        </ButtonLink>
        <ButtonLink to="/" refusal="This token may only read.">
          May not lead there
        </ButtonLink>
        <Button refusal="This token may only read.">May not be used</Button>
        <Button look="main" refusal="This token may only read.">
          May not be used
        </Button>
        <Button look="danger" refusal="This token may only read.">
          May not be used
        </Button>
        <Button look="quiet" refusal="This token may only read.">
          May not be used
        </Button>
      </div>
    </Box>
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
