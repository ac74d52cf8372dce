import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

const Faults = Type.Union([
  /** Any answer, word for word. */
  Type.Object({
    kind: Type.Literal('status'),
    status: Type.Integer({ minimum: 200, maximum: 599 }),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    body: Type.Optional(Type.String()),
  }),
  /** A Graph API error, with the status that comes with it. */
  Type.Object({
    kind: Type.Literal('graph_error'),
    code: Type.Integer(),
    subcode: Type.Optional(Type.Integer()),
    status: Type.Optional(Type.Integer({ minimum: 400, maximum: 599 })),
    is_transient: Type.Optional(Type.Boolean()),
  }),
  Type.Object({ kind: Type.Literal('throttle'), retry_after_s: Type.Optional(Type.Integer({ minimum: 0 })) }),
  /** A proxy's error page. */
  Type.Object({ kind: Type.Literal('html') }),
  /** Takes the request and never answers. */
  Type.Object({ kind: Type.Literal('hang') }),
  /** Breaks the connection; nothing was accepted. */
  Type.Object({ kind: Type.Literal('reset') }),
  /** Accepts, writes the ledger, and breaks the connection before the answer. */
  Type.Object({ kind: Type.Literal('accept_then_reset') }),
  /** Does nothing wrong; for a delay alone. */
  Type.Object({ kind: Type.Literal('none') }),
]);
export type Fault = Static<typeof Faults>;

const Rules = Type.Array(
  Type.Object({
    fault: Faults,
    /** Requests it applies to; absent means until the script is replaced. */
    times: Type.Optional(Type.Integer({ minimum: 1 })),
    /** A pixel id, or the path of a webhook; absent means all but those that begin with @, as `@token` does. */
    scope: Type.Optional(Type.String()),
    /** A token; absent means all. */
    token: Type.Optional(Type.String()),
    delay_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 600_000 })),
  }),
);
export type Rule = Static<typeof Rules>[number];

export interface Script {
  /** Replaces all rules. */
  set(rules: readonly Rule[]): void;
  list(): Rule[];
  /** The first rule that applies to a request, counted down; null when it is to be answered as the platform would. */
  take(scope: string, token: string | null): Rule | null;
}

/** Requests beside the events themselves, as for a token; only a rule that names their scope applies to them. */
const isAside = (scope: string): boolean => scope.startsWith('@');

export function createScript(): Script {
  let rules: Rule[] = [];
  return {
    set: (replacement) => {
      rules = replacement.map((rule) => ({ ...rule }));
    },
    list: () => rules.map((rule) => ({ ...rule })),
    take: (scope, token) => {
      const rule = rules.find(
        (one) =>
          (one.scope ?? (isAside(scope) ? null : scope)) === scope && (one.token === undefined || one.token === token),
      );
      if (rule === undefined) return null;
      if (rule.times !== undefined) rule.times -= 1;
      rules = rules.filter((one) => one.times !== 0);
      return rule;
    },
  };
}

/** Rules from JSON; null when it holds anything else. */
export function readRules(value: unknown): Rule[] | null {
  return Value.Check(Rules, value) ? value : null;
}
