import type { CallAnswer } from '@davit/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { organizations } from '../data/queries.ts';
import { TreeContext, useTree, type Tree } from '../data/tree.ts';
import { useConnection } from '../live/connection.ts';
import { useLive } from '../live/live.ts';
import { Face, FailedFace } from '../parts/face.tsx';
import { Icon } from '../parts/icon.tsx';
import { LiveMark } from '../parts/live-mark.tsx';
import { Mark } from '../parts/state.tsx';
import { fullTime } from '../time.ts';
import { Crumbs } from './crumbs.tsx';
import { isFindKey } from './find-key.ts';
import { Finder } from './finder.tsx';
import { useFocusOfPages } from './focus.ts';
import { usePageLocation, type PageLocation } from './page-location.ts';
import { Rail } from './rail.tsx';
import { PersonMenu } from './person-menu.tsx';

/** The parts that all pages share: rail, top, and the bar of a phone. */
export function Frame(): ReactNode {
  const location = usePageLocation();
  const tree = useTree(location.organizationId);
  const all = useQuery(organizations);
  const [isFinding, setFinding] = useState(false);
  const project = tree.projects.find(({ environments }) => environments.some(({ id }) => id === location.environmentId));
  useLive(location.organizationId, useQueryClient());
  useFocusOfPages();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (!isFindKey(event)) return;
      event.preventDefault();
      // The finder leads to another page: what is typed in an open dialog would be lost.
      if (isFinding || document.querySelector('dialog[open]') === null) setFinding(!isFinding);
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [isFinding]);
  return (
    <div className="frame">
      <a className="skip" href="#content">
        To the content
      </a>
      <Rail page={location} tree={tree} organizations={all.data ?? []} onFind={() => setFinding(true)} />
      <div className="min-w-0">
        <header className="top">
          <Crumbs location={location} projectName={project?.name ?? ''} />
          <LiveMark />
        </header>
        <main className="page" id="content" tabIndex={-1}>
          <StaleNote />
          <TreeContext value={tree}>
            <Content error={all.data === undefined ? all.error : null} isEmpty={all.data?.length === 0} />
          </TreeContext>
        </main>
      </div>
      <Bottom location={location} tree={tree} organizations={all.data ?? []} onFind={() => setFinding(true)} />
      {isFinding && <Finder tree={tree} location={location} onClose={() => setFinding(false)} />}
    </div>
  );
}

function Content({ error, isEmpty }: { readonly error: Error | null; readonly isEmpty: boolean }): ReactNode {
  if (error !== null) return <FailedFace error={error} isPage />;
  if (!isEmpty) return <Outlet />;
  return (
    <Face icon="empty" title="No organization" isPage>
      This token may see no organization yet. Create one with <code>POST /organization</code>.
    </Face>
  );
}

/** While the connection is lost the page may be old; the note says since when. */
function StaleNote(): ReactNode {
  const connection = useConnection();
  if (connection.state !== 'LOST') return null;
  return (
    <div className="note warn">
      <Mark shape="warn" />
      <span>
        The connection to Davit is lost. This page shows what was so at {fullTime(new Date(connection.since).toISOString())}; it
        catches up by itself.
      </span>
    </div>
  );
}

interface BottomProps {
  readonly location: PageLocation;
  readonly tree: Tree;
  readonly organizations: CallAnswer<'listOrganization'>['results'];
  readonly onFind: () => void;
}

function Bottom({ location, tree, organizations: choices, onFind }: BottomProps): ReactNode {
  const first = tree.projects.flatMap(({ environments }) => environments)[0];
  const environmentId = location.environmentId ?? first?.id;
  return (
    <nav className="bottom" aria-label="Main, at the bottom">
      <Link to="/" activeOptions={{ exact: true }} aria-current={location.isOverview ? 'page' : undefined}>
        <Icon name="home" />
        Overview
      </Link>
      {environmentId === undefined ? (
        <button type="button" onClick={onFind}>
          <Icon name="box" />
          Environment
        </button>
      ) : (
        <Link
          to="/environment/$environmentId"
          params={{ environmentId }}
          aria-current={location.environmentId === null ? undefined : 'page'}
        >
          <Icon name="box" />
          Environment
        </Link>
      )}
      <button type="button" onClick={onFind}>
        <Icon name="search" />
        Find
      </button>
      <PersonMenu
        className=""
        organizations={choices}
        button={
          <>
            <Icon name="person" />
            You
          </>
        }
      />
    </nav>
  );
}
