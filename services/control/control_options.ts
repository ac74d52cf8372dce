import type { AnalystUsers } from '#infra/clickhouse/analyst_users.ts';
import type { RunningQueries } from '#infra/clickhouse/running_queries.ts';
import type { KeyUseView } from '#infra/redis/key_use.ts';
import type { MonthUseView } from '#infra/redis/month_use.ts';
import type { TagRecord } from '#infra/redis/tag_health.ts';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import type { DnsResolver } from '#pipelines/settings/domain_proof.ts';
import type { RequestErrors } from '#services/request_errors.ts';
import type { LoadDashboard } from './dashboard_files.ts';
import type { DataReadAudit, ListDataReads } from './data_read_audit.ts';
import type { LettersFor } from './letter_gate.ts';
import type { OwnNames } from './request_guard.ts';
import type { QueryAnswers, Sources, World } from './route.ts';
import type { SignInParts } from './sign_in.ts';
import type { StageView } from './stage_view.ts';
import type { SendTest } from './test_sender.ts';

/** What the control service is made of. */
export interface ControlOptions extends SignInParts {
  adapters: readonly Adapter[];
  keyUse: KeyUseView;
  monthUse: MonthUseView;
  queries: QueryAnswers;
  running: RunningQueries;
  /** Null: this installation makes no users of ClickHouse. */
  analysts: AnalystUsers | null;
  stages: StageView;
  sendTest: SendTest;
  deadLetters: LettersFor;
  dataReads: Pick<DataReadAudit, 'read'> & { list: ListDataReads };
  replayProgress: World['replayProgress'];
  replaysNow: Sources['replaysNow'];
  /** What is remembered of a site's tag; where it is not to be had, throws what says so by its code. */
  readTagRecord(siteId: string): Promise<TagRecord>;
  readRefusals: Sources['readRefusals'];
  seal: World['seal'];
  phoneHmacs: World['phoneHmacs'];
  keyedIdentifier: World['keyedIdentifier'];
  visitorNode: World['visitorNode'];
  splits: Sources['splits'];
  /** Hosts under which the service is asked; it answers no others. */
  ownNames: OwnNames;
  /** CIDR ranges of proxies whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  isAddressAllowed: World['isAddressAllowed'];
  dns: DnsResolver;
  domainRules: World['domainRules'];
  edgeUrl: World['edgeUrl'];
  /** Whether changes can be written as far as is known. */
  healthy(): boolean;
  errors: RequestErrors;
  /** What browsers load of the dashboard. */
  dashboard: LoadDashboard;
}
