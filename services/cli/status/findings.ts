// What is wrong with an installation, of what was read of it: worst first, in words, with what to do.

import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { isRetryTopic } from '#pipelines/delivery/retry_topics.ts';
import { renderNumber } from '#services/stage/terminal.ts';
import {
  type Context,
  earliest,
  type Finding,
  isNamed,
  listed,
  type Observed,
  OPERATIONS,
  type ReadMetric,
  readingOf,
  type Severity,
} from './observed.ts';
import { diskFindings, PART_CHECKS } from './part_findings.ts';

const MINUTE_MS = 60_000;
const SEVERITIES: readonly Severity[] = ['critical', 'warning', 'notice'];

/** What is wrong, worst first: among those of one severity first what explains the others. */
export function findingsOf(observed: Observed): Finding[] {
  const asked = observed.processes.filter(({ isAsked }) => isAsked);
  const silent = asked.filter(({ ready }) => ready === null).map(({ name }) => name);
  const readings = asked.flatMap(({ name, ready, metrics }) =>
    ready === null ? [] : [readingOf(name, ready, metrics?.status === 200 ? metrics.body : '')],
  );
  const context: Context = { observed, readings, silent };
  if (asked.length > 0 && readings.length === 0 && !observed.edge?.answer) {
    return sorted([...diskFindings(context), NOTHING_ANSWERS]);
  }
  return sorted(CHECKS.flatMap((check) => check(context)));
}

const sorted = (findings: readonly Finding[]): Finding[] =>
  SEVERITIES.flatMap((severity) => findings.filter((finding) => finding.severity === severity));

const NOTHING_ANSWERS: Finding = {
  severity: 'critical',
  what: 'Nothing answers: the service was killed, or its machine started anew',
  sinceMs: null,
  todo: 'start it (npm start); what was accepted is kept',
};

/** In the order in which one explains the others. */
const CHECKS: readonly ((context: Context) => Finding[])[] = [
  ...PART_CHECKS,
  stageFindings,
  offsetFindings,
  deliveryFindings,
  deadLetterFindings,
  accountFindings,
  senderClockFindings,
  senderKeyFindings,
  loginFindings,
  tokenFindings,
];

const LATE_MS = MINUTE_MS;
const VERY_LATE_MS = 10 * MINUTE_MS;

/** Stages that nobody works on, or that lag, by Kafka's own word where the control service has it, else by theirs. */
function stageFindings({ observed, readings, silent }: Context): Finding[] {
  const { control, nowMs } = observed;
  const stages = answersOf(control)?.stages ?? null;
  const own = readings.flatMap(({ name, metric }) => {
    // What waits on a retry topic is meant to.
    const seconds = metric('svc_lag_seconds')
      .filter(({ labels }) => !isRetryTopic(labels['topic'] ?? ''))
      .map(({ value }) => value);
    const [stage = name] = name.split('@');
    return seconds.length === 0
      ? []
      : [{ name: stage, waitsMs: 1_000 * Math.max(...seconds), records: sumOf(metric('svc_lag_records')) }];
  });
  const told = (stages ?? []).map(({ stage, waits_longer_than_ms, lag }) => ({
    name: stage,
    waitsMs: waits_longer_than_ms ?? 0,
    records: lag ?? 0,
  }));
  const absent = (stages ?? []).filter(
    ({ stage, consumers }) => consumers === 0 && !silent.some((name) => isNamed(name, stage)),
  );
  const late = [...Map.groupBy([...told, ...own], ({ name }) => name)].flatMap(([name, all]): Finding[] => {
    const waitsMs = Math.max(...all.map((one) => one.waitsMs));
    if (waitsMs < LATE_MS) return [];
    const records = renderNumber(Math.max(...all.map((one) => one.records)));
    return [
      {
        severity: waitsMs >= VERY_LATE_MS ? 'critical' : 'warning',
        what: `${name} is ${spanText(waitsMs)} behind: ${records} records wait`,
        sinceMs: nowMs - waitsMs,
        todo: `where nothing else is wrong, start more of it or give it a core: ${OPERATIONS}#a-stage-that-lags`,
      },
    ];
  });
  return [
    ...absent.map(
      ({ stage }): Finding => ({
        severity: 'critical',
        what: `Nobody works on ${stage}: its group has no consumer`,
        sinceMs: null,
        todo: `start it; what waits is kept for nine days: ${OPERATIONS}#starting-stopping-upgrading`,
      }),
    ),
    ...late,
  ];
}

function offsetFindings({ observed: { control }, readings }: Context): Finding[] {
  const stages = answersOf(control)?.stages ?? [];
  const lost = stages.flatMap(({ stage, lag }): Finding[] => {
    const taken = readings
      .filter(({ name }) => isNamed(name, stage))
      .map(({ metric }) => metric('svc_events_in_total'));
    if (lag !== null || !taken.some((samples) => sumOf(samples) > 0)) return [];
    return [
      {
        severity: 'critical',
        what: `The group of ${stage} has no offsets, though it has taken events: Kafka has lost them`,
        sinceMs: null,
        todo: `restart the broker that coordinates it, and reset nothing: it reads on by stage.offsets: ${OPERATIONS}#starting-stopping-upgrading`,
      },
    ];
  });
  const skipped = readings.flatMap(({ name, metric }) =>
    metric('svc_skipped_offsets_total').flatMap(({ labels, value }): Finding[] => {
      if (value === 0) return [];
      return [
        {
          severity: 'critical',
          what: `Retention deleted ${renderNumber(value)} offsets of ${labels['topic']} before ${name} read them: data is lost`,
          sinceMs: null,
          todo: `keep the topic for longer, and ${name} from lagging; its log has the range: ${OPERATIONS}#a-stage-that-lags`,
        },
      ];
    }),
  );
  return [...lost, ...skipped];
}

const CAUSES: Record<string, string> = {
  credentials_broken: 'refuses the credentials',
  throttled: 'asks for a pause',
  failing: 'fails',
};

/** Answers of those who do not wait for settings by themselves, such as a site's own webhook. */
const REFUSALS: ReadonlySet<string> = new Set(['http_401', 'http_403']);

/** No platform takes as long; calls are given up after 10 or 15 seconds. */
const CALL_LATE_MS = 5_000;

/** How destinations do: by their outcomes, where the control service has them; by open breakers of those it says nothing wrong of. */
function deliveryFindings({ observed: { control, nowMs }, readings }: Context): Finding[] {
  const items = answersOf(control)?.destinations ?? [];
  const troubled = items.filter(({ state }) => state === 'failing' || state === 'waits_for_settings');
  const groups = Map.groupBy(troubled, (one) => `${one.destination} ${one.state} ${one.reason}`);
  const failing = [...groups.values()].map((all): Finding => {
    const [{ destination, state, reason } = { destination: '', state: '', reason: '' }] = all;
    const waiting = renderNumber(all.reduce((sum, one) => sum + one.waiting, 0));
    const sites = listed(all.map((one) => one.site_id));
    const refuses = state === 'waits_for_settings' || REFUSALS.has(reason);
    return {
      severity: 'warning',
      what: `${destination} of ${sites} ${refuses ? 'refuses the credentials or settings' : 'fails'} (${reason}): ${waiting} events wait`,
      sinceMs: earliest(all.flatMap((one) => one.delivered_at ?? [])),
      todo: refuses
        ? `change its secret or settings (svc destination set); events wait 72 hours: ${OPERATIONS}#outages-of-destinations`
        : `look at its attempts (svc destination health); events are retried for 72 hours: ${OPERATIONS}#outages-of-destinations`,
    };
  });
  const whole = readings.filter(({ metric }) => sumOf(metric('svc_delivery_away')) > 0);
  const away = whole.map(
    ({ name }): Finding => ({
      severity: 'critical',
      what: `The whole destination of ${name} is unavailable: its events wait in the main topic`,
      sinceMs: null,
      todo: `nothing, where the platform is down; else look at egress and DNS: ${OPERATIONS}#outages-of-destinations`,
    }),
  );
  const known = new Set(troubled.map(({ destination }) => `delivery.${kindOfDestination(destination)}`));
  const untold = readings.filter(({ name }) => ![...known].some((stage) => isNamed(name, stage)));
  const hung = untold.flatMap(({ name, metric }): Finding[] => {
    const waitsMs = 1_000 * Math.max(0, ...metric('svc_delivery_oldest_call_seconds').map(({ value }) => value));
    if (waitsMs < CALL_LATE_MS) return [];
    return [
      {
        severity: 'warning',
        what: `A destination of ${name} does not answer: a call has been waiting for ${spanText(waitsMs)}`,
        sinceMs: nowMs - waitsMs,
        todo: `wait some seconds: svc destination health says which it is once the call has timed out: ${OPERATIONS}#outages-of-destinations`,
      },
    ];
  });
  const open = untold.flatMap(({ name, metric }) =>
    metric('svc_delivery_breakers_open').flatMap(({ labels, value }): Finding[] => {
      if (value === 0) return [];
      const sites = `${renderNumber(value)} ${value === 1 ? 'site' : 'sites'}`;
      return [
        {
          severity: 'warning',
          what: `${name} has open circuit breakers: the destination of ${sites} ${CAUSES[labels['cause'] ?? ''] ?? 'fails'}`,
          sinceMs: null,
          todo: `svc destination health says which and why: ${OPERATIONS}#outages-of-destinations`,
        },
      ];
    }),
  );
  return [...away, ...failing, ...hung, ...open];
}

function deadLetterFindings({ observed: { control }, readings }: Context): Finding[] {
  const openOf = answersOf(control)?.openDeadLetters;
  return readings.flatMap(({ name, metric }): Finding[] => {
    const dead = metric('svc_events_dead_total').filter(({ value }) => value > 0);
    const stage = stageOfDeadLetters(name);
    const oldest = openOf?.get(stage) ?? null;
    if (dead.length === 0 || oldest === 'none') return [];
    const reasons = dead.map(({ labels, value }) => `${labels['reason']} ${renderNumber(value)}`).join(', ');
    return [
      {
        severity: 'warning',
        what: `${name} gave events up since it started: ${reasons}`,
        sinceMs: oldest,
        todo: `svc dead list --stage ${stage} --state open, then resend or resolve them: ${OPERATIONS}#dead-letters`,
      },
    ];
  });
}

/** Deliveries share a topic of dead letters. */
export function stageOfDeadLetters(processName: string): string {
  return processName.split(/[.@]/)[0] ?? processName;
}

const NEAR = 0.8;

function accountFindings({ observed: { control } }: Context): Finding[] {
  const accounts = answersOf(control)?.accounts ?? [];
  const near = accounts.flatMap(({ account_id, monthly_allowance, used_this_month: used }) => {
    const share = used === null || used === 0 ? 0 : used / monthly_allowance;
    return share < NEAR ? [] : [{ name: `${account_id} (${Math.floor(100 * share)} %)`, isOver: share >= 1 }];
  });
  return [...Map.groupBy(near, ({ isOver }) => isOver)].map(([isOver, all]): Finding => {
    const names = listed(all.map(({ name }) => name));
    return {
      severity: isOver ? 'warning' : 'notice',
      what: isOver
        ? `The month's allowance is used up, and events beyond its grace are dropped: ${names}`
        : `The month's allowance is nearly used up: ${names}`,
      sinceMs: null,
      todo: `svc account set ACCOUNT --allowance N, or tell the customer: ${OPERATIONS}#allowances`,
    };
  });
}

/** Of what an edge took since it started; a few are always off. */
const OFF_SHARE = 0.01;
const OFF_MIN = 10;
const OFF_CODES: ReadonlySet<string> = new Set(['timestamp_ahead', 'timestamp_too_old', 'timestamp_invalid']);

function senderClockFindings({ readings }: Context): Finding[] {
  return readings.flatMap(({ name, metric }): Finding[] => {
    const off = sumOf(metric('svc_edge_warned_total').filter(({ labels }) => OFF_CODES.has(labels['code'] ?? '')));
    const taken = sumOf(metric('svc_events_passed_total'));
    if (off < OFF_MIN || off < OFF_SHARE * taken) return [];
    return [
      {
        severity: 'notice',
        what: `${renderNumber(off)} of the events that ${name} took say a time more than a day ahead, or none that can be: a sender's clock is wrong`,
        sinceMs: null,
        todo: `svc site rejections SITE --samples says which key sends them: ${OPERATIONS}#what-was-not-accepted`,
      },
    ];
  });
}

/** Keys that let their senders in once. */
const LOST_KEY_CODES: ReadonlySet<string> = new Set(['key_revoked', 'key_expired']);

function senderKeyFindings({ readings }: Context): Finding[] {
  return readings.flatMap(({ name, metric }): Finding[] => {
    const refused = sumOf(
      metric('svc_edge_refused_requests_total').filter(({ labels }) => LOST_KEY_CODES.has(labels['code'] ?? '')),
    );
    if (refused === 0) return [];
    return [
      {
        severity: 'notice',
        what: `${name} has refused ${renderNumber(refused)} ${refused === 1 ? 'request' : 'requests'} since it started, whose key was revoked or has expired; their events are lost unless the sender keeps them`,
        sinceMs: null,
        todo: `svc site rejections SITE --samples says which key; give its sender another one (svc key create): ${OPERATIONS}#what-was-not-accepted`,
      },
    ];
  });
}

/** Processes of one user that sign in by two passwords. */
function loginFindings({ readings }: Context): Finding[] {
  const logins = readings.flatMap(({ metric }) => metric('svc_login').map(({ labels }) => labels));
  const users = Map.groupBy(logins, ({ part, user }) => `${user} of ${part}`);
  const several = [...users].flatMap(([name, all]) =>
    new Set(all.map((one) => one['digest'])).size > 1 ? [name] : [],
  );
  if (several.length === 0) return [];
  return [
    {
      severity: 'notice',
      what: `Processes sign in by an old and a new password: ${listed(several)}`,
      sinceMs: null,
      todo: `start all of them anew, then svc password finish: ${OPERATIONS}#changing-passwords`,
    },
  ];
}

function tokenFindings({ observed: { control } }: Context): Finding[] {
  if (control !== 'refused') return [];
  return [
    {
      severity: 'warning',
      what: 'The control service refuses the admin token: stages, destinations and allowances were not looked at',
      sinceMs: null,
      todo: 'set SVC_ADMIN_TOKEN to one that is active (svc token list)',
    },
  ];
}

/** What the control service answered; null where it did not. */
const answersOf = (control: Observed['control']) => (typeof control === 'string' ? null : control);

const sumOf = (samples: ReturnType<ReadMetric>): number => samples.reduce((sum, { value }) => sum + value, 0);

/** A span of time in its largest unit. */
export function spanText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}
