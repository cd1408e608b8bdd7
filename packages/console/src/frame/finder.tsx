import { useQueries } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type KeyboardEvent, type ReactNode } from 'react';
import { servicesIn } from '../data/queries.ts';
import type { Tree } from '../data/tree.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';
import { Cut } from '../parts/page.tsx';
import { State } from '../parts/state.tsx';
import { servicesOf, shapeOfService, type Shape } from '../words.ts';
import type { Place } from './place.ts';
import { shapeOfEnvironment } from './rail.tsx';

interface Found {
  readonly key: string;
  readonly name: string;
  readonly where: string;
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
  readonly place: Place;
  readonly onClose: () => void;
}

/** Finds environments, services and their pages by their names. The arrow keys choose, Enter opens. */
export function Finder({ tree, place, onClose }: FinderProps): ReactNode {
  const [text, setText] = useState('');
  const [chosen, choose] = useState(0);
  const navigate = useNavigate();
  const all = useEverything(tree, place);
  const words = text.toLowerCase().split(/\s+/);
  const found = [...all, ...pagesOf(all, words)]
    .filter(({ name, where }) => words.every((word) => `${where} ${name}`.toLowerCase().includes(word)))
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
                <Cut text={one.where} />
              </span>
            </a>
          </li>
        ))}
      </ul>
      {found.length === 0 && <div className="quiet-line">Nothing has this name.</div>}
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
function useEverything(tree: Tree, place: Place): Found[] {
  const environments = tree.projects.flatMap((project) => project.environments);
  const lists = useQueries({ queries: environments.map(({ id }) => servicesIn(id)) });
  const found = environments.flatMap((environment, index) => {
    const statuses = new Map((environment.details === null ? [] : servicesOf(environment.details)).map((one) => [one.id, one]));
    const address = `/environment/${environment.id}`;
    const here = environment.id === place.environmentId ? 0 : 1;
    const services = (lists[index]?.data ?? []).map(({ id, name }) => {
      const status = statuses.get(id);
      const shape: Shape = status === undefined ? 'wait' : shapeOfService(status);
      const where = `${environment.projectName} / ${environment.name}`;
      return { key: id, name, where, shape, address: `${address}/service/${id}`, here };
    });
    const shape = shapeOfEnvironment(environment);
    return [{ key: environment.id, name: environment.name, where: environment.projectName, shape, address, here }, ...services];
  });
  return found.toSorted((one, other) => one.here - other.here);
}
