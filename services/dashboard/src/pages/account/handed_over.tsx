import type { VNode } from 'preact';
import { SecretOnce } from '../../ui/secret_once.tsx';

interface HandedOverProps {
  userId: string;
  password: string;
  onClose(): void;
}

/** A password that was just set for somebody, to be handed over. */
export function HandedOver({ userId, password, onClose }: HandedOverProps): VNode {
  return (
    <div class="stack">
      <SecretOnce secret={password} what="password" />
      <p>
        Hand it over to whoever signs in as <code>{userId}</code>. They change it after signing in, under Account, You.
      </p>
      <div class="actions">
        <button type="button" class="button primary" onClick={onClose}>
          I have copied it
        </button>
      </div>
    </div>
  );
}
