import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, useSyncExternalStore, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './data/queries.ts';
import { SignIn } from './pages/sign-in.tsx';
import { router } from './router.tsx';
import { currentToken, onSession } from './session.ts';
import { applyTheme } from './theme.ts';
import './styles.css';

function Console(): ReactNode {
  const token = useSyncExternalStore(onSession, currentToken);
  return token === null ? <SignIn /> : <RouterProvider router={router} />;
}

applyTheme();
// A page that was opened before Davit was updated asks for a script that no longer exists.
window.addEventListener('vite:preloadError', () => location.reload());
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
