import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState, type KeyboardEvent, type ReactNode } from 'react';
import type { Tree } from '../data/tree.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';
import { Cut, CutAll } from '../parts/page.tsx';
import { State } from '../parts/state.tsx';
import { shapeOfService, type Shape } from '../words.ts';
import type { PageLocation } from './page-location.ts';
import { shapeOfEnvironment } from './rail.tsx';

interface Found {
  readonly key: string;
  readonly name: string;
  readonly where: readonly string[];
  readonly shape: Shape;
  readonly address: string;
}

const largestList = 50;

/** Pages of a service that are found by their names, such as "api variables". */
const pages = [
  ['logs', 'Logs'],
  ['metrics', 'Metrics'],
  ['history', 'History'],
  ['variables', 'Variables'],
  ['settings', 'Settings'],
] as const;
const shortestWord = 3;

/** Returns the pages whose name one of the words begins; words of one or two letters mean no page. */
function pagesNamed(words: readonly string[]): readonly (typeof pages)[number][] {
  return pages.filter(([page]) => words.some((word) => word.length >= shortestWord && page.startsWith(word)));
}

interface FinderProps {
  readonly tree: Tree;
  readonly location: PageLocation;
  readonly onClose: () => void;
}

/** Finds environments, services and their pages by their names. The arrow keys choose, Enter opens. */
export function Finder({ tree, location, onClose }: FinderProps): ReactNode {
  const [text, setText] = useState('');
  const [chosen, choose] = useState(0);
  const navigate = useNavigate();
  const all = useMemo(() => everythingIn(tree, location), [tree, location]);
  const words = text.toLowerCase().split(/\s+/);
  const found = [...all, ...pagesOf(all, words)]
    .filter(({ name, where }) => words.every((word) => `${where.join(' ')} ${name}`.toLowerCase().includes(word)))
    .slice(0, largestList);
  const open = (one: Found | undefined): void => {
    if (one === undefined) return;
    onClose();
    void navigate({ to: one.address });
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') choose(Math.min(found.length - 1, chosen + 1));
    else if (event.key === 'ArrowUp') choose(Math.max(0, chosen - 1));
    else if (event.key === 'Enter') open(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label="Find" className="finder" onClose={onClose}>
      <div className="field">
        <Icon name="search" />
        <input
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- the dialog is opened to type
          autoFocus
          role="combobox"
          aria-label="Find an environment or a service"
          aria-expanded="true"
          aria-controls="found"
          aria-activedescendant={found[chosen] === undefined ? undefined : `found-${chosen}`}
          placeholder="Find an environment or a service"
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            choose(0);
          }}
          onKeyDown={press}
        />
      </div>
      <ul id="found" role="listbox" aria-label="Found">
        {found.map((one, index) => (
          <li key={one.key} id={`found-${index}`} role="option" aria-selected={index === chosen}>
            <a
              href={`/console${one.address}`}
              tabIndex={-1}
              className={index === chosen ? 'on' : ''}
              onClick={(event) => {
                event.preventDefault();
                open(one);
              }}
            >
              <State shape={one.shape} />
              <Cut text={one.name} />
              <span className="under">
                <CutAll texts={one.where} between=" / " />
              </span>
            </a>
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <div className="quiet-line">{tree.isPending ? 'Projects and services are being read.' : 'Nothing has this name.'}</div>
      )}
    </Dialog>
  );
}

/** Returns the pages of services that the words name, each as something of its own to find. */
function pagesOf(all: readonly Found[], words: readonly string[]): Found[] {
  const named = pagesNamed(words);
  if (named.length === 0) return [];
  return all
    .filter(({ address }) => address.includes('/service/'))
    .flatMap((service) =>
      named.map(([page, name]) => ({
        ...service,
        key: `${service.key} ${page}`,
        name: `${service.name}: ${name}`,
        address: `${service.address}/${page}`,
      })),
    );
}

/** Returns everything that has a page; what is in the current environment comes first. */
function everythingIn(tree: Tree, location: PageLocation): Found[] {
  const found = tree.projects.flatMap(({ environments }) =>
    environments.flatMap((environment) => {
      const address = `/environment/${environment.id}`;
      const here = environment.id === location.environmentId ? 0 : 1;
      const where = [environment.projectName, environment.name];
      const services = environment.services.map((service) => {
        const shape = shapeOfService(service);
        return { key: service.id, name: service.name, where, shape, address: `${address}/service/${service.id}`, here };
      });
      const shape = shapeOfEnvironment(environment);
      const own = { key: environment.id, name: environment.name, where: [environment.projectName], shape, address, here };
      return [own, ...services];
    }),
  );
  return found.toSorted((one, other) => one.here - other.here);
}
