-- Which record is the one of a cluster, by what the cluster itself says that it is (the uid of its namespace kube-system). Two records of one cluster
-- would each take what the other one has deployed there for left behind.
create table cluster_identity (
  identity text primary key,
  cluster_id uuid not null references cluster (id) on delete cascade
);
create index cluster_identity_cluster on cluster_identity (cluster_id);
