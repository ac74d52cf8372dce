# Every delivery gets what svc_delivery_meta has, by its own name. With another KAFKA_GROUP_PREFIX than svc, replace it.
PREFIX= # KAFKA_TOPIC_PREFIX
ACLS="kafka-acls.sh --bootstrap-server BROKER:9092 --command-config admin.properties --add"
$ACLS --allow-principal User:svc_edge --operation Read --topic ${PREFIX}site.config
$ACLS --allow-principal User:svc_edge --operation Write --topic ${PREFIX}events.raw --topic ${PREFIX}inventory
$ACLS --allow-principal User:svc_edge --operation Read --group ${PREFIX}svc.table
$ACLS --allow-principal User:svc_edge --operation Read --group ${PREFIX}svc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Read --topic ${PREFIX}site.config --topic ${PREFIX}audit.reads --topic ${PREFIX}delivery.replays --topic ${PREFIX}dead.resent --topic ${PREFIX}dead.resolved --topic ${PREFIX}delivery.outcomes --topic ${PREFIX}identity.links --topic ${PREFIX}person.erasures --topic ${PREFIX}alerts --topic ${PREFIX}dead.dedup --topic ${PREFIX}dead.quota --topic ${PREFIX}dead.identity --topic ${PREFIX}dead.warehouse --topic ${PREFIX}dead.delivery --topic ${PREFIX}delivery.meta.replay --topic ${PREFIX}delivery.tiktok.replay --topic ${PREFIX}delivery.ga4.replay --topic ${PREFIX}delivery.google.replay --topic ${PREFIX}delivery.webhook.replay --topic ${PREFIX}delivery.posthog.replay --topic ${PREFIX}delivery.snapchat.replay --topic ${PREFIX}delivery.pinterest.replay --topic ${PREFIX}delivery.reddit.replay --topic ${PREFIX}delivery.linkedin.replay
$ACLS --allow-principal User:svc_control --operation Write --topic ${PREFIX}site.config --topic ${PREFIX}identity.links --topic ${PREFIX}person.erasures --topic ${PREFIX}alerts --topic ${PREFIX}audit --topic ${PREFIX}audit.reads --topic ${PREFIX}dead.resent --topic ${PREFIX}dead.resolved --topic ${PREFIX}events.raw --topic ${PREFIX}again.identity --topic ${PREFIX}again.warehouse --topic ${PREFIX}delivery.meta.replay --topic ${PREFIX}delivery.tiktok.replay --topic ${PREFIX}delivery.ga4.replay --topic ${PREFIX}delivery.google.replay --topic ${PREFIX}delivery.webhook.replay --topic ${PREFIX}delivery.posthog.replay --topic ${PREFIX}delivery.snapchat.replay --topic ${PREFIX}delivery.pinterest.replay --topic ${PREFIX}delivery.reddit.replay --topic ${PREFIX}delivery.linkedin.replay
$ACLS --allow-principal User:svc_control --operation Describe --topic ${PREFIX}events.unique --topic ${PREFIX}events.identified --topic ${PREFIX}quota.counts --topic ${PREFIX}dedup.duplicates --topic ${PREFIX}quota.usage --topic ${PREFIX}inventory
$ACLS --allow-principal User:svc_control --operation Describe --topic ${PREFIX}delivery. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Read --group ${PREFIX}svc.table --group ${PREFIX}svc.once
$ACLS --allow-principal User:svc_control --operation Read --group ${PREFIX}svc.table. --group ${PREFIX}svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Describe --group ${PREFIX}svc.dedup --group ${PREFIX}svc.quota --group ${PREFIX}svc.identity --group ${PREFIX}svc.warehouse --group ${PREFIX}svc.delivery --group ${PREFIX}svc.replay
$ACLS --allow-principal User:svc_control --operation Describe --group ${PREFIX}svc.dedup. --group ${PREFIX}svc.quota. --group ${PREFIX}svc.identity. --group ${PREFIX}svc.warehouse. --group ${PREFIX}svc.delivery. --group ${PREFIX}svc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Write --transactional-id ${PREFIX}svc.control. --transactional-id ${PREFIX}svc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_dedup --operation Read --topic ${PREFIX}events.raw --topic ${PREFIX}events.unique --topic ${PREFIX}stage.offsets --topic ${PREFIX}person.erasures
$ACLS --allow-principal User:svc_dedup --operation Write --topic ${PREFIX}events.unique --topic ${PREFIX}quota.counts --topic ${PREFIX}dedup.duplicates --topic ${PREFIX}dead.dedup --topic ${PREFIX}stage.offsets
$ACLS --allow-principal User:svc_dedup --operation Read --group ${PREFIX}svc.dedup --group ${PREFIX}svc.table --group ${PREFIX}svc.once
$ACLS --allow-principal User:svc_dedup --operation Read --group ${PREFIX}svc.dedup. --group ${PREFIX}svc.table. --group ${PREFIX}svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_dedup --operation Write --transactional-id ${PREFIX}svc.dedup. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_identity --operation Read --topic ${PREFIX}events.unique --topic ${PREFIX}again.identity --topic ${PREFIX}identity.links --topic ${PREFIX}events.identified --topic ${PREFIX}stage.offsets --topic ${PREFIX}person.erasures
$ACLS --allow-principal User:svc_identity --operation Write --topic ${PREFIX}events.identified --topic ${PREFIX}identity.links --topic ${PREFIX}dead.identity --topic ${PREFIX}stage.offsets
$ACLS --allow-principal User:svc_identity --operation Read --group ${PREFIX}svc.identity --group ${PREFIX}svc.table --group ${PREFIX}svc.once
$ACLS --allow-principal User:svc_identity --operation Read --group ${PREFIX}svc.identity. --group ${PREFIX}svc.table. --group ${PREFIX}svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_identity --operation Write --transactional-id ${PREFIX}svc.identity. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_quota --operation Read --topic ${PREFIX}site.config --topic ${PREFIX}quota.counts --topic ${PREFIX}quota.usage
$ACLS --allow-principal User:svc_quota --operation Write --topic ${PREFIX}quota.usage --topic ${PREFIX}dead.quota
$ACLS --allow-principal User:svc_quota --operation Describe --topic ${PREFIX}events.raw
$ACLS --allow-principal User:svc_quota --operation Read --group ${PREFIX}svc.quota --group ${PREFIX}svc.table
$ACLS --allow-principal User:svc_quota --operation Read --group ${PREFIX}svc.quota. --group ${PREFIX}svc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_warehouse --operation Read --topic ${PREFIX}site.config --topic ${PREFIX}events.identified --topic ${PREFIX}again.warehouse --topic ${PREFIX}identity.links --topic ${PREFIX}quota.usage --topic ${PREFIX}delivery.outcomes --topic ${PREFIX}inventory --topic ${PREFIX}dedup.duplicates --topic ${PREFIX}stage.offsets --topic ${PREFIX}person.erasures
$ACLS --allow-principal User:svc_warehouse --operation Write --topic ${PREFIX}dead.warehouse --topic ${PREFIX}stage.offsets
$ACLS --allow-principal User:svc_warehouse --operation Read --group ${PREFIX}svc.warehouse --group ${PREFIX}svc.table
$ACLS --allow-principal User:svc_warehouse --operation Read --group ${PREFIX}svc.warehouse. --group ${PREFIX}svc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_delivery_meta --operation Read --topic ${PREFIX}site.config --topic ${PREFIX}events.identified --topic ${PREFIX}delivery.meta.retry.5s --topic ${PREFIX}delivery.meta.retry.1m --topic ${PREFIX}delivery.meta.retry.10m --topic ${PREFIX}delivery.meta.retry.1h --topic ${PREFIX}delivery.meta.retry.6h --topic ${PREFIX}delivery.meta.retry.slow --topic ${PREFIX}delivery.meta.replay --topic ${PREFIX}stage.offsets --topic ${PREFIX}person.erasures
$ACLS --allow-principal User:svc_delivery_meta --operation Write --topic ${PREFIX}delivery.outcomes --topic ${PREFIX}dead.delivery --topic ${PREFIX}delivery.meta.retry.5s --topic ${PREFIX}delivery.meta.retry.1m --topic ${PREFIX}delivery.meta.retry.10m --topic ${PREFIX}delivery.meta.retry.1h --topic ${PREFIX}delivery.meta.retry.6h --topic ${PREFIX}delivery.meta.retry.slow --topic ${PREFIX}delivery.meta.replay --topic ${PREFIX}stage.offsets
$ACLS --allow-principal User:svc_delivery_meta --operation Read --group ${PREFIX}svc.delivery.meta --group ${PREFIX}svc.table
$ACLS --allow-principal User:svc_delivery_meta --operation Read --group ${PREFIX}svc.delivery.meta. --group ${PREFIX}svc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_delivery_meta --operation Write --transactional-id ${PREFIX}svc.delivery.meta. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Read --topic ${PREFIX}site.config --topic ${PREFIX}person.erasures --topic ${PREFIX}delivery.replays --topic ${PREFIX}events.identified --topic ${PREFIX}delivery.outcomes --topic ${PREFIX}dead.delivery --topic ${PREFIX}delivery.meta.replay --topic ${PREFIX}delivery.tiktok.replay --topic ${PREFIX}delivery.ga4.replay --topic ${PREFIX}delivery.google.replay --topic ${PREFIX}delivery.webhook.replay --topic ${PREFIX}delivery.posthog.replay --topic ${PREFIX}delivery.snapchat.replay --topic ${PREFIX}delivery.pinterest.replay --topic ${PREFIX}delivery.reddit.replay --topic ${PREFIX}delivery.linkedin.replay
$ACLS --allow-principal User:svc_replay --operation Write --topic ${PREFIX}delivery.replays --topic ${PREFIX}delivery.meta.replay --topic ${PREFIX}delivery.tiktok.replay --topic ${PREFIX}delivery.ga4.replay --topic ${PREFIX}delivery.google.replay --topic ${PREFIX}delivery.webhook.replay --topic ${PREFIX}delivery.posthog.replay --topic ${PREFIX}delivery.snapchat.replay --topic ${PREFIX}delivery.pinterest.replay --topic ${PREFIX}delivery.reddit.replay --topic ${PREFIX}delivery.linkedin.replay
$ACLS --allow-principal User:svc_replay --operation Read --group ${PREFIX}svc.replay --group ${PREFIX}svc.table --group ${PREFIX}svc.once
$ACLS --allow-principal User:svc_replay --operation Read --group ${PREFIX}svc.replay. --group ${PREFIX}svc.table. --group ${PREFIX}svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Describe --group ${PREFIX}svc.delivery --group ${PREFIX}svc.warehouse
$ACLS --allow-principal User:svc_replay --operation Describe --group ${PREFIX}svc.delivery. --group ${PREFIX}svc.warehouse. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Delete --group ${PREFIX}svc.replay
$ACLS --allow-principal User:svc_replay --operation Delete --group ${PREFIX}svc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Write --transactional-id ${PREFIX}svc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_erasure --operation Read --topic ${PREFIX}site.config --topic ${PREFIX}person.erasures --topic ${PREFIX}identity.links --topic ${PREFIX}events.raw --topic ${PREFIX}events.unique --topic ${PREFIX}events.identified --topic ${PREFIX}delivery.outcomes --topic ${PREFIX}dedup.duplicates --topic ${PREFIX}inventory --topic ${PREFIX}again.identity --topic ${PREFIX}again.warehouse
$ACLS --allow-principal User:svc_erasure --operation Write --topic ${PREFIX}person.erasures --topic ${PREFIX}identity.links
$ACLS --allow-principal User:svc_erasure --operation Read --group ${PREFIX}svc.erasure --group ${PREFIX}svc.table --group ${PREFIX}svc.once
$ACLS --allow-principal User:svc_erasure --operation Read --group ${PREFIX}svc.erasure. --group ${PREFIX}svc.table. --group ${PREFIX}svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_erasure --operation Describe --group ${PREFIX}svc.dedup --group ${PREFIX}svc.identity --group ${PREFIX}svc.warehouse
$ACLS --allow-principal User:svc_erasure --operation Describe --group ${PREFIX}svc.dedup. --group ${PREFIX}svc.identity. --group ${PREFIX}svc.warehouse. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_erasure --operation Write --transactional-id ${PREFIX}svc.erasure. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_alerts --operation Read --topic ${PREFIX}site.config --topic ${PREFIX}alerts --topic ${PREFIX}events.raw --topic ${PREFIX}events.unique --topic ${PREFIX}events.identified
$ACLS --allow-principal User:svc_alerts --operation Write --topic ${PREFIX}alerts
$ACLS --allow-principal User:svc_alerts --operation Read --group ${PREFIX}svc.alerts --group ${PREFIX}svc.table --group ${PREFIX}svc.once
$ACLS --allow-principal User:svc_alerts --operation Read --group ${PREFIX}svc.alerts. --group ${PREFIX}svc.table. --group ${PREFIX}svc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_alerts --operation Describe --group ${PREFIX}svc.dedup --group ${PREFIX}svc.identity --group ${PREFIX}svc.warehouse
$ACLS --allow-principal User:svc_alerts --operation Describe --group ${PREFIX}svc.dedup. --group ${PREFIX}svc.identity. --group ${PREFIX}svc.warehouse. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_alerts --operation Write --transactional-id ${PREFIX}svc.alerts. --resource-pattern-type prefixed
