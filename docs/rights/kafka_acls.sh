# Every delivery gets what svc_delivery_meta has, by its own name. With another KAFKA_GROUP_PREFIX than svc, replace it.
PREFIX= # KAFKA_TOPIC_PREFIX
ACLS="kafka-acls.sh --bootstrap-server BROKER:9092 --command-config admin.properties --add"
$ACLS --allow-principal User:svc_edge --operation Read --topic $PREFIXsite.config
$ACLS --allow-principal User:svc_edge --operation Write --topic $PREFIXevents.raw --topic $PREFIXinventory
$ACLS --allow-principal User:svc_edge --operation Read --group $PREFIXsvc.table
$ACLS --allow-principal User:svc_edge --operation Read --group $PREFIXsvc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Read --topic $PREFIXsite.config --topic $PREFIXaudit.reads --topic $PREFIXdelivery.replays --topic $PREFIXdead.resent --topic $PREFIXdead.resolved --topic $PREFIXdelivery.outcomes --topic $PREFIXidentity.links --topic $PREFIXperson.erasures --topic $PREFIXalerts --topic $PREFIXdead.dedup --topic $PREFIXdead.quota --topic $PREFIXdead.identity --topic $PREFIXdead.warehouse --topic $PREFIXdead.delivery --topic $PREFIXdelivery.meta.replay --topic $PREFIXdelivery.tiktok.replay --topic $PREFIXdelivery.ga4.replay --topic $PREFIXdelivery.google.replay --topic $PREFIXdelivery.webhook.replay --topic $PREFIXdelivery.posthog.replay --topic $PREFIXdelivery.snapchat.replay --topic $PREFIXdelivery.pinterest.replay --topic $PREFIXdelivery.reddit.replay --topic $PREFIXdelivery.linkedin.replay
$ACLS --allow-principal User:svc_control --operation Write --topic $PREFIXsite.config --topic $PREFIXidentity.links --topic $PREFIXperson.erasures --topic $PREFIXalerts --topic $PREFIXaudit --topic $PREFIXaudit.reads --topic $PREFIXdead.resent --topic $PREFIXdead.resolved --topic $PREFIXevents.raw --topic $PREFIXagain.identity --topic $PREFIXagain.warehouse --topic $PREFIXdelivery.meta.replay --topic $PREFIXdelivery.tiktok.replay --topic $PREFIXdelivery.ga4.replay --topic $PREFIXdelivery.google.replay --topic $PREFIXdelivery.webhook.replay --topic $PREFIXdelivery.posthog.replay --topic $PREFIXdelivery.snapchat.replay --topic $PREFIXdelivery.pinterest.replay --topic $PREFIXdelivery.reddit.replay --topic $PREFIXdelivery.linkedin.replay
$ACLS --allow-principal User:svc_control --operation Describe --topic $PREFIXevents.unique --topic $PREFIXevents.identified --topic $PREFIXquota.counts --topic $PREFIXdedup.duplicates --topic $PREFIXquota.usage --topic $PREFIXinventory
$ACLS --allow-principal User:svc_control --operation Describe --topic $PREFIXdelivery. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Read --group $PREFIXsvc.table --group $PREFIXsvc.once
$ACLS --allow-principal User:svc_control --operation Read --group $PREFIXsvc.table. --group $PREFIXsvc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Describe --group $PREFIXsvc.dedup --group $PREFIXsvc.quota --group $PREFIXsvc.identity --group $PREFIXsvc.warehouse --group $PREFIXsvc.delivery --group $PREFIXsvc.replay
$ACLS --allow-principal User:svc_control --operation Describe --group $PREFIXsvc.dedup. --group $PREFIXsvc.quota. --group $PREFIXsvc.identity. --group $PREFIXsvc.warehouse. --group $PREFIXsvc.delivery. --group $PREFIXsvc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_control --operation Write --transactional-id $PREFIXsvc.control. --transactional-id $PREFIXsvc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_dedup --operation Read --topic $PREFIXevents.raw --topic $PREFIXevents.unique --topic $PREFIXstage.offsets --topic $PREFIXperson.erasures
$ACLS --allow-principal User:svc_dedup --operation Write --topic $PREFIXevents.unique --topic $PREFIXquota.counts --topic $PREFIXdedup.duplicates --topic $PREFIXdead.dedup --topic $PREFIXstage.offsets
$ACLS --allow-principal User:svc_dedup --operation Read --group $PREFIXsvc.dedup --group $PREFIXsvc.table --group $PREFIXsvc.once
$ACLS --allow-principal User:svc_dedup --operation Read --group $PREFIXsvc.dedup. --group $PREFIXsvc.table. --group $PREFIXsvc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_dedup --operation Write --transactional-id $PREFIXsvc.dedup. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_identity --operation Read --topic $PREFIXevents.unique --topic $PREFIXagain.identity --topic $PREFIXidentity.links --topic $PREFIXevents.identified --topic $PREFIXstage.offsets --topic $PREFIXperson.erasures
$ACLS --allow-principal User:svc_identity --operation Write --topic $PREFIXevents.identified --topic $PREFIXidentity.links --topic $PREFIXdead.identity --topic $PREFIXstage.offsets
$ACLS --allow-principal User:svc_identity --operation Read --group $PREFIXsvc.identity --group $PREFIXsvc.table --group $PREFIXsvc.once
$ACLS --allow-principal User:svc_identity --operation Read --group $PREFIXsvc.identity. --group $PREFIXsvc.table. --group $PREFIXsvc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_identity --operation Write --transactional-id $PREFIXsvc.identity. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_quota --operation Read --topic $PREFIXsite.config --topic $PREFIXquota.counts --topic $PREFIXquota.usage
$ACLS --allow-principal User:svc_quota --operation Write --topic $PREFIXquota.usage --topic $PREFIXdead.quota
$ACLS --allow-principal User:svc_quota --operation Describe --topic $PREFIXevents.raw
$ACLS --allow-principal User:svc_quota --operation Read --group $PREFIXsvc.quota --group $PREFIXsvc.table
$ACLS --allow-principal User:svc_quota --operation Read --group $PREFIXsvc.quota. --group $PREFIXsvc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_warehouse --operation Read --topic $PREFIXsite.config --topic $PREFIXevents.identified --topic $PREFIXagain.warehouse --topic $PREFIXidentity.links --topic $PREFIXquota.usage --topic $PREFIXdelivery.outcomes --topic $PREFIXinventory --topic $PREFIXdedup.duplicates --topic $PREFIXstage.offsets --topic $PREFIXperson.erasures
$ACLS --allow-principal User:svc_warehouse --operation Write --topic $PREFIXdead.warehouse --topic $PREFIXstage.offsets
$ACLS --allow-principal User:svc_warehouse --operation Read --group $PREFIXsvc.warehouse --group $PREFIXsvc.table
$ACLS --allow-principal User:svc_warehouse --operation Read --group $PREFIXsvc.warehouse. --group $PREFIXsvc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_delivery_meta --operation Read --topic $PREFIXsite.config --topic $PREFIXevents.identified --topic $PREFIXdelivery.meta.retry.5s --topic $PREFIXdelivery.meta.retry.1m --topic $PREFIXdelivery.meta.retry.10m --topic $PREFIXdelivery.meta.retry.1h --topic $PREFIXdelivery.meta.retry.6h --topic $PREFIXdelivery.meta.retry.slow --topic $PREFIXdelivery.meta.replay --topic $PREFIXstage.offsets --topic $PREFIXperson.erasures
$ACLS --allow-principal User:svc_delivery_meta --operation Write --topic $PREFIXdelivery.outcomes --topic $PREFIXdead.delivery --topic $PREFIXdelivery.meta.retry.5s --topic $PREFIXdelivery.meta.retry.1m --topic $PREFIXdelivery.meta.retry.10m --topic $PREFIXdelivery.meta.retry.1h --topic $PREFIXdelivery.meta.retry.6h --topic $PREFIXdelivery.meta.retry.slow --topic $PREFIXdelivery.meta.replay --topic $PREFIXstage.offsets
$ACLS --allow-principal User:svc_delivery_meta --operation Read --group $PREFIXsvc.delivery.meta --group $PREFIXsvc.table
$ACLS --allow-principal User:svc_delivery_meta --operation Read --group $PREFIXsvc.delivery.meta. --group $PREFIXsvc.table. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_delivery_meta --operation Write --transactional-id $PREFIXsvc.delivery.meta. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Read --topic $PREFIXsite.config --topic $PREFIXperson.erasures --topic $PREFIXdelivery.replays --topic $PREFIXevents.identified --topic $PREFIXdelivery.outcomes --topic $PREFIXdead.delivery --topic $PREFIXdelivery.meta.replay --topic $PREFIXdelivery.tiktok.replay --topic $PREFIXdelivery.ga4.replay --topic $PREFIXdelivery.google.replay --topic $PREFIXdelivery.webhook.replay --topic $PREFIXdelivery.posthog.replay --topic $PREFIXdelivery.snapchat.replay --topic $PREFIXdelivery.pinterest.replay --topic $PREFIXdelivery.reddit.replay --topic $PREFIXdelivery.linkedin.replay
$ACLS --allow-principal User:svc_replay --operation Write --topic $PREFIXdelivery.replays --topic $PREFIXdelivery.meta.replay --topic $PREFIXdelivery.tiktok.replay --topic $PREFIXdelivery.ga4.replay --topic $PREFIXdelivery.google.replay --topic $PREFIXdelivery.webhook.replay --topic $PREFIXdelivery.posthog.replay --topic $PREFIXdelivery.snapchat.replay --topic $PREFIXdelivery.pinterest.replay --topic $PREFIXdelivery.reddit.replay --topic $PREFIXdelivery.linkedin.replay
$ACLS --allow-principal User:svc_replay --operation Read --group $PREFIXsvc.replay --group $PREFIXsvc.table --group $PREFIXsvc.once
$ACLS --allow-principal User:svc_replay --operation Read --group $PREFIXsvc.replay. --group $PREFIXsvc.table. --group $PREFIXsvc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Describe --group $PREFIXsvc.delivery --group $PREFIXsvc.warehouse
$ACLS --allow-principal User:svc_replay --operation Describe --group $PREFIXsvc.delivery. --group $PREFIXsvc.warehouse. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Delete --group $PREFIXsvc.replay
$ACLS --allow-principal User:svc_replay --operation Delete --group $PREFIXsvc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_replay --operation Write --transactional-id $PREFIXsvc.replay. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_erasure --operation Read --topic $PREFIXsite.config --topic $PREFIXperson.erasures --topic $PREFIXidentity.links --topic $PREFIXevents.raw --topic $PREFIXevents.unique --topic $PREFIXevents.identified --topic $PREFIXdelivery.outcomes --topic $PREFIXdedup.duplicates --topic $PREFIXinventory --topic $PREFIXagain.identity --topic $PREFIXagain.warehouse
$ACLS --allow-principal User:svc_erasure --operation Write --topic $PREFIXperson.erasures --topic $PREFIXidentity.links
$ACLS --allow-principal User:svc_erasure --operation Read --group $PREFIXsvc.erasure --group $PREFIXsvc.table --group $PREFIXsvc.once
$ACLS --allow-principal User:svc_erasure --operation Read --group $PREFIXsvc.erasure. --group $PREFIXsvc.table. --group $PREFIXsvc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_erasure --operation Describe --group $PREFIXsvc.dedup --group $PREFIXsvc.identity --group $PREFIXsvc.warehouse
$ACLS --allow-principal User:svc_erasure --operation Describe --group $PREFIXsvc.dedup. --group $PREFIXsvc.identity. --group $PREFIXsvc.warehouse. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_erasure --operation Write --transactional-id $PREFIXsvc.erasure. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_alerts --operation Read --topic $PREFIXsite.config --topic $PREFIXalerts --topic $PREFIXevents.raw --topic $PREFIXevents.unique --topic $PREFIXevents.identified
$ACLS --allow-principal User:svc_alerts --operation Write --topic $PREFIXalerts
$ACLS --allow-principal User:svc_alerts --operation Read --group $PREFIXsvc.alerts --group $PREFIXsvc.table --group $PREFIXsvc.once
$ACLS --allow-principal User:svc_alerts --operation Read --group $PREFIXsvc.alerts. --group $PREFIXsvc.table. --group $PREFIXsvc.once. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_alerts --operation Describe --group $PREFIXsvc.dedup --group $PREFIXsvc.identity --group $PREFIXsvc.warehouse
$ACLS --allow-principal User:svc_alerts --operation Describe --group $PREFIXsvc.dedup. --group $PREFIXsvc.identity. --group $PREFIXsvc.warehouse. --resource-pattern-type prefixed
$ACLS --allow-principal User:svc_alerts --operation Write --transactional-id $PREFIXsvc.alerts. --resource-pattern-type prefixed
