import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Failure } from '../../api/api_answer.ts';
import { finishReturn, RETURN_PATH } from '../../api/providers.ts';
import { addressOf, go, matchPath, place } from '../../router.ts';
import { Icon } from '../../ui/icon.tsx';
import { readSession } from '../../who.ts';
import { SignInForm } from './sign_in_form.tsx';

/** Asks who it is. */
export function SignInPage(): VNode {
  const [failure, setFailure] = useState<Failure | null>(null);
  useEffect(() => {
    document.title = 'Sign in · Dashboard';
    const returned = matchPath(RETURN_PATH, place.value.path);
    if (returned !== null) void finishAtProvider(returned['provider'] ?? '', setFailure);
  }, []);
  return (
    <main class="sign-in" id="main">
      <div class="sign-in-box">
        <p class="brand">
          <Icon name="pulse" /> Events
        </p>
        <h1>Sign in</h1>
        <SignInForm user={null} said={failure} />
      </div>
    </main>
  );
}

/** Ends a sign-in at a provider that sent the browser back here; what it sent is of no use a second time. */
async function finishAtProvider(provider: string, onFailure: (failure: Failure) => void): Promise<void> {
  const sent = location.search.slice(1);
  go(addressOf('/'), 'replace');
  const { answer } = await finishReturn(provider, sent);
  if (answer.ok) await readSession();
  else onFailure(answer.failure);
}
