import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, useSyncExternalStore, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './data/queries.ts';
import { keepFocus } from './frame/focus.ts';
import { Device } from './signed-out/device.tsx';
import { FirstRun } from './signed-out/first-run.tsx';
import { Invitation } from './signed-out/invitation.tsx';
import { Forgotten } from './signed-out/forgotten.tsx';
import { IssuerReturn } from './signed-out/issuer.tsx';
import { NewPassword } from './signed-out/password.tsx';
import { SignIn } from './signed-out/sign-in.tsx';
import { router } from './router.tsx';
import { currentSession, onSession } from './session.ts';
import { applyTheme } from './theme.ts';
import './styles.css';

function Console(): ReactNode {
  const session = useSyncExternalStore(onSession, currentSession);
  // These addresses are in links that somebody may open without an account.
  const { pathname } = location;
  if (pathname === '/console/first-run') return <FirstRun />;
  if (pathname === '/console/invitation') return <Invitation />;
  if (pathname === '/console/password') return <NewPassword />;
  if (pathname === '/console/forgotten') return <Forgotten />;
  if (pathname === '/console/issuer') return <IssuerReturn />;
  if (session === null) return <SignIn />;
  return pathname === '/console/device' ? <Device /> : <RouterProvider key={session} router={router} />;
}

const reloadedKey = 'davit.reloaded';
const leastReloadMilliseconds = 60_000;

/** Loads the page again, but not without end where a script cannot be had. */
function reloadOnce(): void {
  if (Date.now() - Number(sessionStorage.getItem(reloadedKey)) < leastReloadMilliseconds) return;
  sessionStorage.setItem(reloadedKey, String(Date.now()));
  location.reload();
}

applyTheme();
keepFocus();
// A page that was opened before Davit was updated asks for a script that no longer exists.
window.addEventListener('vite:preloadError', reloadOnce);
const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Console />
      </QueryClientProvider>
    </StrictMode>,
  );
}
