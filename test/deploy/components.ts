// What an overlay may take besides the base, as a component of Kustomize: backups every night.
import { CONTAINER_SECURITY, containerOf, MADE, POD_SECURITY } from './kubernetes.ts';
import { labelsOf, type Manifest, NAMESPACE } from './manifest.ts';
import { PROVISION } from './processes.ts';
import { yamlFile } from './yaml.ts';

const NAME = 'backup';
const VOLUME = 'backups';
const FOLDER = '/backups';

const VOLUME_CLAIM: Manifest = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: VOLUME },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '20Gi' } } },
};

/** What a backup needs beside what provisioning does, of control's Secret and no more of it. */
const OF_CONTROL = [{ key: 'SECRETS_KEYS' }, { key: 'IDENTITY_SECRET' }, { key: 'IDENTITY_KEY', optional: true }];

/**
 * What is outdated or was never finished goes first, so that a volume that was full has room again. Where ClickHouse cannot be backed up,
 * what Kafka alone holds is; the job has failed all the same.
 */
const COMMAND = [
  'svc() { sh /app/deploy/run.sh svc "$@"; }',
  'name=$(date -u +%Y-%m-%d-%H%M%S)',
  `svc backup prune ${FOLDER} --days "$BACKUP_DAYS" || pruned=no`,
  'if [ -z "$BACKUP_CLICKHOUSE" ]',
  `then svc backup create "${FOLDER}/$name"`,
  `else svc backup create "${FOLDER}/$name" --clickhouse "$(printf %s "$BACKUP_CLICKHOUSE" | sed "s/DAY/$name/")" || { svc backup create "${FOLDER}/$name-topics"; false; }`,
  'fi && [ "$pruned" != no ]',
].join('\n');

/** Its pods have provisioning's labels, as they may go where that may. */
const CRON_JOB: Manifest = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: NAME, labels: labelsOf(PROVISION) },
  spec: {
    schedule: '30 2 * * *',
    timeZone: 'Etc/UTC',
    concurrencyPolicy: 'Forbid',
    startingDeadlineSeconds: 3600,
    jobTemplate: {
      spec: {
        // Each attempt has a name of its own.
        backoffLimit: 2,
        template: {
          metadata: { labels: labelsOf(PROVISION) },
          spec: {
            ...POD_SECURITY,
            securityContext: { ...POD_SECURITY.securityContext, fsGroup: POD_SECURITY.securityContext.runAsGroup },
            restartPolicy: 'Never',
            containers: [
              {
                ...containerOf(PROVISION),
                command: ['/bin/sh', '-c', COMMAND],
                args: [],
                env: [
                  { name: 'BACKUP_CLICKHOUSE', value: "S3(backups, 'DAY/{shard}')" },
                  { name: 'BACKUP_DAYS', value: '30' },
                  ...OF_CONTROL.map((of) => ({
                    name: of.key,
                    valueFrom: { secretKeyRef: { name: 'control', ...of } },
                  })),
                ],
                volumeMounts: [{ name: VOLUME, mountPath: FOLDER }],
                securityContext: CONTAINER_SECURITY,
              },
            ],
            volumes: [{ name: VOLUME, persistentVolumeClaim: { claimName: VOLUME } }],
          },
        },
      },
    },
  },
};

export const BACKUP: readonly Manifest[] = [VOLUME_CLAIM, CRON_JOB];

const ABOUT = `A backup every night (docs/backup.md), for an overlay with "components: [../../components/backup]". ClickHouse's user is
provisioning's and needs BACKUP. Patch where ClickHouse writes (the first DAY becomes the folder's name; empty: without ClickHouse), how long
folders are kept, and the volume's size and class: deleting the namespace deletes the volume, so take one that is retained, and copy it
elsewhere. What ClickHouse wrote is deleted by its bucket's own rule alone. Rows are kept in backups for 60 days at most.`;

export const COMPONENT_FILES: Readonly<Record<string, string>> = {
  'backup/kustomization.yaml': yamlFile(`${ABOUT}\n\n${MADE}`, {
    apiVersion: 'kustomize.config.k8s.io/v1alpha1',
    kind: 'Component',
    namespace: NAMESPACE,
    resources: ['backup.yaml'],
  }),
  'backup/backup.yaml': yamlFile(MADE, ...BACKUP),
};
