# Every delivery gets what svc_delivery_meta has, by its own name. With another KAFKA_GROUP_PREFIX than svc, replace it.
ACLS="kafka-acls.sh --bootstrap-server BROKER:9092 --command-config admin.properties --add"
$ACLS --allow-principal User:svc_edge --operation Read --topic site.config
$ACLS --allow-principal User:svc_edge --operation Write --topic events.raw --topic inventory
$ACLS --allow-principal User:svc_edge --operation Read --group svc.table
$ACLS --allow-principal User:svc_edge --operation Read --group svc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Read --topic site.config --topic audit.reads --topic delivery.replays --topic dead.resent --topic dead.resolved --topic delivery.outcomes --topic identity.links --topic person.erasures --topic dead.dedup --topic dead.quota --topic dead.identity --topic dead.warehouse --topic dead.delivery --topic delivery.meta.replay --topic delivery.tiktok.replay --topic delivery.ga4.replay --topic delivery.google.replay --topic delivery.webhook.replay --topic delivery.posthog.replay --topic delivery.snapchat.replay --topic delivery.pinterest.replay --topic delivery.reddit.replay --topic delivery.linkedin.replay
$ACLS --allow-principal User:svc_control --operation Write --topic site.config --topic identity.links --topic person.erasures --topic audit --topic audit.reads --topic dead.resent --topic dead.resolved --topic events.raw --topic again.identity --topic again.warehouse --topic delivery.meta.replay --topic delivery.tiktok.replay --topic delivery.ga4.replay --topic delivery.google.replay --topic delivery.webhook.replay --topic delivery.posthog.replay --topic delivery.snapchat.replay --topic delivery.pinterest.replay --topic delivery.reddit.replay --topic delivery.linkedin.replay
$ACLS --allow-principal User:svc_control --operation Describe --topic events.unique --topic events.identified --topic quota.counts --topic dedup.duplicates --topic quota.usage --topic inventory
$ACLS --allow-principal User:svc_control --operation Describe --topic delivery. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Read --group svc.table --group svc.once
$ACLS --allow-principal User:svc_control --operation Read --group svc.table. --group svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Describe --group svc.dedup --group svc.quota --group svc.identity --group svc.warehouse --group svc.delivery --group svc.replay
$ACLS --allow-principal User:svc_control --operation Describe --group svc.dedup. --group svc.quota. --group svc.identity. --group svc.warehouse. --group svc.delivery. --group svc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Write --transactional-id svc.control. --transactional-id svc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_dedup --operation Read --topic events.raw --topic events.unique --topic stage.offsets --topic person.erasures
$ACLS --allow-principal User:svc_dedup --operation Write --topic events.unique --topic quota.counts --topic dedup.duplicates --topic dead.dedup --topic stage.offsets
$ACLS --allow-principal User:svc_dedup --operation Read --group svc.dedup --group svc.table --group svc.once
$ACLS --allow-principal User:svc_dedup --operation Read --group svc.dedup. --group svc.table. --group svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_dedup --operation Write --transactional-id svc.dedup. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_identity --operation Read --topic events.unique --topic again.identity --topic identity.links --topic events.identified --topic stage.offsets --topic person.erasures
$ACLS --allow-principal User:svc_identity --operation Write --topic events.identified --topic identity.links --topic dead.identity --topic stage.offsets
$ACLS --allow-principal User:svc_identity --operation Read --group svc.identity --group svc.table --group svc.once
$ACLS --allow-principal User:svc_identity --operation Read --group svc.identity. --group svc.table. --group svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_identity --operation Write --transactional-id svc.identity. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_quota --operation Read --topic site.config --topic quota.counts --topic quota.usage
$ACLS --allow-principal User:svc_quota --operation Write --topic quota.usage --topic dead.quota
$ACLS --allow-principal User:svc_quota --operation Describe --topic events.raw
$ACLS --allow-principal User:svc_quota --operation Read --group svc.quota --group svc.table
$ACLS --allow-principal User:svc_quota --operation Read --group svc.quota. --group svc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_warehouse --operation Read --topic site.config --topic events.identified --topic again.warehouse --topic identity.links --topic quota.usage --topic delivery.outcomes --topic inventory --topic dedup.duplicates --topic stage.offsets --topic person.erasures
$ACLS --allow-principal User:svc_warehouse --operation Write --topic dead.warehouse --topic stage.offsets
$ACLS --allow-principal User:svc_warehouse --operation Read --group svc.warehouse --group svc.table
$ACLS --allow-principal User:svc_warehouse --operation Read --group svc.warehouse. --group svc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_delivery_meta --operation Read --topic site.config --topic events.identified --topic delivery.meta.retry.5s --topic delivery.meta.retry.1m --topic delivery.meta.retry.10m --topic delivery.meta.retry.1h --topic delivery.meta.retry.6h --topic delivery.meta.retry.slow --topic delivery.meta.replay --topic stage.offsets --topic person.erasures
$ACLS --allow-principal User:svc_delivery_meta --operation Write --topic delivery.outcomes --topic dead.delivery --topic delivery.meta.retry.5s --topic delivery.meta.retry.1m --topic delivery.meta.retry.10m --topic delivery.meta.retry.1h --topic delivery.meta.retry.6h --topic delivery.meta.retry.slow --topic delivery.meta.replay --topic stage.offsets
$ACLS --allow-principal User:svc_delivery_meta --operation Read --group svc.delivery.meta --group svc.table
$ACLS --allow-principal User:svc_delivery_meta --operation Read --group svc.delivery.meta. --group svc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_delivery_meta --operation Write --transactional-id svc.delivery.meta. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Read --topic site.config --topic person.erasures --topic delivery.replays --topic events.identified --topic delivery.outcomes --topic dead.delivery --topic delivery.meta.replay --topic delivery.tiktok.replay --topic delivery.ga4.replay --topic delivery.google.replay --topic delivery.webhook.replay --topic delivery.posthog.replay --topic delivery.snapchat.replay --topic delivery.pinterest.replay --topic delivery.reddit.replay --topic delivery.linkedin.replay
$ACLS --allow-principal User:svc_replay --operation Write --topic delivery.replays --topic delivery.meta.replay --topic delivery.tiktok.replay --topic delivery.ga4.replay --topic delivery.google.replay --topic delivery.webhook.replay --topic delivery.posthog.replay --topic delivery.snapchat.replay --topic delivery.pinterest.replay --topic delivery.reddit.replay --topic delivery.linkedin.replay
$ACLS --allow-principal User:svc_replay --operation Read --group svc.replay --group svc.table --group svc.once
$ACLS --allow-principal User:svc_replay --operation Read --group svc.replay. --group svc.table. --group svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Describe --group svc.delivery --group svc.warehouse
$ACLS --allow-principal User:svc_replay --operation Describe --group svc.delivery. --group svc.warehouse. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Delete --group svc.replay
$ACLS --allow-principal User:svc_replay --operation Delete --group svc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Write --transactional-id svc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_erasure --operation Read --topic site.config --topic person.erasures --topic identity.links --topic events.unique --topic events.identified --topic delivery.outcomes --topic dedup.duplicates --topic inventory --topic again.identity --topic again.warehouse
$ACLS --allow-principal User:svc_erasure --operation Write --topic person.erasures --topic identity.links
$ACLS --allow-principal User:svc_erasure --operation Read --group svc.erasure --group svc.table --group svc.once
$ACLS --allow-principal User:svc_erasure --operation Read --group svc.erasure. --group svc.table. --group svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_erasure --operation Describe --group svc.identity --group svc.warehouse
$ACLS --allow-principal User:svc_erasure --operation Describe --group svc.identity. --group svc.warehouse. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_erasure --operation Write --transactional-id svc.erasure. --resource-pattern-type prefixed
