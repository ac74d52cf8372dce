import type { VNode } from 'preact';
import { SecondFactor } from './second_factor.tsx';

/** All that somebody sees whose role takes a second factor, until they have one. */
export default function SecondFactorPage(): VNode {
  return (
    <div class="stack">
      <p>
        Your role takes a second factor beside the password: a code of an authenticator app. Set it up, and the page
        that you came for opens.
      </p>
      <SecondFactor />
    </div>
  );
}
