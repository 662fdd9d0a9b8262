-- Everything that the store says to SQLite, but for a few pragmas. Each query has a name and one
-- line of meaning. Parameters that a row binds are numbered in the order of rows.py.

-- name: count_objects
-- How many tables and indexes there are, whoever made them.
SELECT count(*) FROM sqlite_schema;

-- name: list_objects
-- Tables and indexes as they were declared.
SELECT type, name, tbl_name, sql FROM sqlite_schema;

-- name: load_ledger
-- The one row of the ledger.
SELECT ledger_id, boot_id, boot_ms, wall_ms, last_ms FROM ledger;

-- name: create_ledger
-- Give a new ledger its identity.
INSERT INTO ledger (only, ledger_id, created_ms, last_ms, last_sequence, last_batch)
VALUES (1, ?1, ?2, ?2, 0, '');

-- name: save_anchor
-- Keep where the clock was anchored in this boot.
UPDATE ledger SET boot_id = ?1, boot_ms = ?2, wall_ms = ?3;

-- name: load_progress
-- How far the ledger has come.
SELECT last_ms, last_sequence, last_batch FROM ledger;

-- name: save_progress
-- Move on with a batch, and leave its id as the proof that it was committed.
UPDATE ledger SET last_ms = ?1, last_sequence = ?2, last_batch = ?3;

-- name: load_attempts
-- Attempts by id, each with its reclamation.
SELECT
    a.execution_attempt_id, a.execution_id, a.ordinal, a.created_ms, a.owed_since_ms, a.claimable,
    a.mark, a.status, a.provider_id, a.allocation_lifetime, a.provisioner_incarnation_id,
    a.deadline_ms, a.settlement_kind, a.settled_ms, a.claim_expires_ms, a.generation, a.obligation,
    a.owner_id, a.token, a.lease_expires_ms, a.failure_count, a.doubt_streak, a.opened_ms,
    a.next_look_ms, a.last_failure, a.allocation_ref, a.result,
    r.generation, r.owner_id, r.token, r.lease_expires_ms, r.failure_count, r.doubt_streak,
    r.opened_ms, r.next_look_ms, r.closure, r.closed_ms, r.last_failure, r.allocation_refs
FROM carray(?1) AS named
CROSS JOIN attempt AS a ON a.execution_attempt_id = named.value
LEFT JOIN reclamation AS r ON r.attempt_no = a.attempt_no;

-- name: load_executions
-- Executions by id.
SELECT
    e.execution_id, e.submitted_ms, e.conclusion, e.active_attempt_id, e.attempt_count,
    e.attempts_max, e.attempt_timeout_ms, e.submitted_by, e.concluded_ms, e.converged_ms,
    e.next_attempt_ms, e.cancellation, e.submission
FROM carray(?1) AS named
CROSS JOIN execution AS e ON e.execution_id = named.value;

-- name: save_attempt
-- All of an attempt, new or changed.
INSERT INTO attempt (
    execution_attempt_id, execution_id, ordinal, created_ms, owed_since_ms, claimable,
    mark, status, provider_id, allocation_lifetime, provisioner_incarnation_id,
    deadline_ms, settlement_kind, settled_ms, claim_expires_ms, generation, obligation,
    owner_id, token, lease_expires_ms, failure_count, doubt_streak, opened_ms,
    next_look_ms, last_failure, allocation_ref, result
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6,
    ?7, ?8, ?9, ?10, ?11,
    ?12, ?13, ?14, ?15, ?16, ?17,
    ?18, ?19, ?20, ?21, ?22, ?23,
    ?24, ?25, ?26, ?27
)
ON CONFLICT (execution_attempt_id) DO UPDATE SET
    execution_id = ?2, ordinal = ?3, created_ms = ?4, owed_since_ms = ?5, claimable = ?6, mark = ?7,
    status = ?8, provider_id = ?9, allocation_lifetime = ?10, provisioner_incarnation_id = ?11,
    deadline_ms = ?12, settlement_kind = ?13, settled_ms = ?14, claim_expires_ms = ?15,
    generation = ?16, obligation = ?17, owner_id = ?18, token = ?19, lease_expires_ms = ?20,
    failure_count = ?21, doubt_streak = ?22, opened_ms = ?23, next_look_ms = ?24,
    last_failure = ?25, allocation_ref = ?26, result = ?27;

-- name: update_attempt
-- All of an attempt that is in no index: SQLite rewrites each index whose columns are set at all.
UPDATE attempt SET
    status = ?8, provider_id = ?9, allocation_lifetime = ?10, provisioner_incarnation_id = ?11,
    deadline_ms = ?12, settlement_kind = ?13, settled_ms = ?14, claim_expires_ms = ?15,
    generation = ?16, obligation = ?17, owner_id = ?18, token = ?19, lease_expires_ms = ?20,
    failure_count = ?21, doubt_streak = ?22, opened_ms = ?23, next_look_ms = ?24,
    last_failure = ?25, allocation_ref = ?26, result = ?27
WHERE execution_attempt_id = ?1;

-- name: save_reclamation
-- The reclamation of an attempt, new or changed.
INSERT INTO reclamation (
    attempt_no, generation, owner_id, token, lease_expires_ms, failure_count, doubt_streak,
    opened_ms, next_look_ms, closure, closed_ms, last_failure, allocation_refs
) VALUES (
    (SELECT attempt_no FROM attempt WHERE execution_attempt_id = ?1),
    ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
)
ON CONFLICT (attempt_no) DO UPDATE SET
    generation = ?2, owner_id = ?3, token = ?4, lease_expires_ms = ?5, failure_count = ?6,
    doubt_streak = ?7, opened_ms = ?8, next_look_ms = ?9, closure = ?10, closed_ms = ?11,
    last_failure = ?12, allocation_refs = ?13;

-- name: delete_reclamation
-- No reclamation for an attempt that had one.
DELETE FROM reclamation
WHERE attempt_no = (SELECT attempt_no FROM attempt WHERE execution_attempt_id = ?1);

-- name: save_execution
-- All of an execution, new or changed.
INSERT INTO execution (
    execution_id, submitted_ms, conclusion, active_attempt_id, attempt_count,
    attempts_max, attempt_timeout_ms, submitted_by, concluded_ms, converged_ms,
    next_attempt_ms, cancellation, submission
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
ON CONFLICT (execution_id) DO UPDATE SET
    submitted_ms = ?2, conclusion = ?3,
    active_attempt_id = ?4, attempt_count = ?5, attempts_max = ?6, attempt_timeout_ms = ?7,
    submitted_by = ?8, concluded_ms = ?9, converged_ms = ?10,
    next_attempt_ms = ?11, cancellation = ?12, submission = ?13;

-- name: update_execution
-- All of an execution that is in no index.
UPDATE execution SET
    active_attempt_id = ?4, attempt_count = ?5, attempts_max = ?6, attempt_timeout_ms = ?7,
    submitted_by = ?8, concluded_ms = ?9, converged_ms = ?10,
    next_attempt_ms = ?11, cancellation = ?12, submission = ?13
WHERE execution_id = ?1;

-- name: append_entry
-- One journal entry; with a known fold key it is counted in the first entry of that key.
INSERT INTO journal (
    sequence, execution_no, at_ms, event, execution_id, execution_attempt_id, actor, generation,
    fold_key, count, last_at_ms, evidence, detail
) VALUES (
    ?1, (SELECT execution_no FROM execution WHERE execution_id = ?4),
    ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, ?2, ?9, ?10
)
ON CONFLICT (fold_key) WHERE fold_key IS NOT NULL
DO UPDATE SET count = count + 1, last_at_ms = max(last_at_ms, excluded.last_at_ms);

-- name: list_claimable
-- Ids of attempts of one execution that a worker may recover into, by creation.
SELECT execution_attempt_id FROM attempt
WHERE
    execution_id = ?1 AND claimable = 1 AND status = 'allocated' AND allocation_ref IS NOT NULL
    AND settlement_kind IS NULL
ORDER BY created_ms, execution_attempt_id;

-- name: list_owed
-- Ids of attempts with open work, oldest first; filters before the limit.
SELECT a.execution_attempt_id, a.execution_id FROM attempt AS a
LEFT JOIN reclamation AS r ON r.attempt_no = a.attempt_no AND a.settlement_kind IS NOT NULL
WHERE
    a.owed_since_ms IS NOT NULL
    AND a.owed_since_ms >= ?1 AND (a.owed_since_ms > ?1 OR a.execution_attempt_id > ?2)
    AND (?3 IS NULL OR coalesce(r.next_look_ms, a.next_look_ms) < ?3)
    AND (?4 IS NULL OR a.provider_id IN (SELECT value FROM json_each(?4)))
    AND (?5 IS NULL OR a.execution_id = ?5)
ORDER BY a.owed_since_ms, a.execution_attempt_id
LIMIT ?6;

-- name: list_executions
-- Ids of submitted executions, newest first.
SELECT execution_id FROM execution
WHERE
    submitted_ms IS NOT NULL
    AND submitted_ms <= ?1 AND (submitted_ms < ?1 OR execution_id > ?2)
ORDER BY submitted_ms DESC, execution_id
LIMIT ?3;

-- name: list_unconcluded
-- Ids of submitted executions without a conclusion, newest first.
SELECT execution_id FROM execution
WHERE
    submitted_ms IS NOT NULL AND conclusion IS NULL
    AND submitted_ms <= ?1 AND (submitted_ms < ?1 OR execution_id > ?2)
ORDER BY submitted_ms DESC, execution_id
LIMIT ?3;

-- name: list_concluded
-- Ids of submitted executions with a conclusion, newest first.
SELECT execution_id FROM execution
WHERE
    submitted_ms IS NOT NULL AND conclusion IS NOT NULL
    AND submitted_ms <= ?1 AND (submitted_ms < ?1 OR execution_id > ?2)
ORDER BY submitted_ms DESC, execution_id
LIMIT ?3;

-- name: list_entries
-- Journal entries after a cursor.
SELECT
    sequence, at_ms, event, execution_id, execution_attempt_id, actor, generation, count,
    last_at_ms, evidence, detail
FROM journal WHERE sequence > ?1 ORDER BY sequence LIMIT ?2;

-- name: list_entries_of_execution
-- Journal entries of one execution after a cursor.
SELECT
    sequence, at_ms, event, execution_id, execution_attempt_id, actor, generation, count,
    last_at_ms, evidence, detail
FROM journal
WHERE
    execution_no IS (SELECT execution_no FROM execution WHERE execution_id = ?3)
    AND execution_id = ?3 AND sequence > ?1
ORDER BY sequence LIMIT ?2;

-- name: list_entries_of_attempt
-- Journal entries of one attempt after a cursor.
SELECT
    sequence, at_ms, event, execution_id, execution_attempt_id, actor, generation, count,
    last_at_ms, evidence, detail
FROM journal
WHERE
    execution_no IS (
        SELECT e.execution_no FROM attempt AS a
        JOIN execution AS e ON e.execution_id = a.execution_id
        WHERE a.execution_attempt_id = ?3
    )
    AND execution_attempt_id = ?3 AND (?4 IS NULL OR execution_id = ?4) AND sequence > ?1
ORDER BY sequence LIMIT ?2;

-- name: list_execution_ids
-- Ids of executions in the order in which they were made, after a number.
SELECT execution_no, execution_id FROM execution
WHERE execution_no > ?1 ORDER BY execution_no LIMIT ?2;

-- name: list_attempts
-- Attempts and since when they owe something, in the order in which they were made.
SELECT attempt_no, execution_attempt_id, owed_since_ms FROM attempt
WHERE attempt_no > ?1 ORDER BY attempt_no LIMIT ?2;

-- name: find_wrong_counts
-- Executions that do not count their attempts right.
SELECT
    'execution ' || quote(e.execution_id) || ': it counts ' || e.attempt_count
    || ' attempts and has ' || coalesce(n.attempts, 0)
FROM execution AS e
LEFT JOIN (
    SELECT execution_id, count(*) AS attempts FROM attempt GROUP BY execution_id
) AS n ON n.execution_id = e.execution_id
WHERE e.attempt_count <> coalesce(n.attempts, 0);

-- name: find_stray_reclamations
-- Reclamations of no attempt.
SELECT 'reclamation ' || r.attempt_no || ': its attempt is missing'
FROM reclamation AS r
WHERE NOT EXISTS (SELECT 1 FROM attempt AS a WHERE a.attempt_no = r.attempt_no);

-- name: find_entries_out_of_order
-- Journal entries beyond what the ledger says was written last.
SELECT 'journal entry ' || j.sequence || ': it lies behind the end of the journal'
FROM ledger AS l CROSS JOIN journal AS j ON j.sequence > l.last_sequence;
