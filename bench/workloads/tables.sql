-- SPDX-License-Identifier: MIT
-- Inserts, an index, joins, aggregates, strings and JSON, all in memory.
create table item(id integer primary key, owner int, price int, name text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 240000)
  insert into item select i, (i * 7919) % 5000, (i * 104729) % 10007, printf('name-%x', (i * 2654435761) % 1048576) from n;
create index by_owner on item(owner, price);
create table owner(id integer primary key, region text);
with recursive n(i) as (select 0 union all select i + 1 from n where i < 4999)
  insert into owner select i, 'region ' || (i % 37) from n;
select region, count(*), sum(price), min(name), max(name) from owner join item on item.owner = owner.id group by region order by 3;
select count(*) from item a join item b on a.owner = b.owner and a.price < b.price where a.id % 3 = 0;
select substr(name, 6, 2) as prefix, count(distinct owner) from item where name like '%a%' group by prefix order by 2 desc, 1 limit 20;
select sum(json_extract(json_object('id', id, 'values', json_array(price, owner)), '$.values[1]')) from item where id % 4 = 0;
update item set price = price + (select count(*) from owner where owner.id = item.owner) where id % 2 = 0;
delete from item where price % 5 = 0;
select count(*), sum(price), total(length(name)) from item;
drop table item;
drop table owner;
