import type { VNode } from 'preact';
import { IssuedSecret } from '../../ui/secret_once.tsx';

interface HandedOverProps {
  title: string;
  userId: string;
  password: string;
  onClose(): void;
}

/** A password that was just set for somebody, to be handed over. */
export function HandedOver({ title, userId, password, onClose }: HandedOverProps): VNode {
  return (
    <IssuedSecret title={title} secret={password} what="password" onClose={onClose}>
      <p>
        Hand it over to whoever signs in as <code>{userId}</code>. They change it after signing in, under Account, You.
      </p>
    </IssuedSecret>
  );
}
